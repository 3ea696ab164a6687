"""Upkeep: what is worth doing once an hour, by any worker: the audit, pruning, and what retention asks for."""

from dataclasses import asdict

import structlog
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.accounting.folding import fold_all
from oddish.exports.retention import delete_orphans
from oddish.gateway.retention import delete_old_workspaces, delete_old_zips
from oddish.identity.idempotency import delete_expired_records
from oddish.imports.retention import delete_abandoned_archives
from oddish.queue.archive import forget_finished
from oddish.queue.audit import audit
from oddish.queue.pruning import prune
from oddish.storage.store import ArtifactStore
from oddish.tasks.retention import delete_abandoned_uploads
from oddish.trials.counting import count_tools
from oddish.trials.retention import delete_expired_secrets

UPKEEP_SECONDS = 3600.0
FIRST_UPKEEP_SECONDS = 300.0
"""Local stacks stop long before they are an hour old."""

log = structlog.get_logger()


async def keep_up(database: AsyncEngine, store: ArtifactStore, *, finished_job_days: int) -> None:
    """Do all of it, in short transactions. Several workers may at the same time."""
    async with database.begin() as connection:
        for drift in await audit(connection):
            log.error("a counter of the queue was off", **asdict(drift))
    async with database.begin() as connection:
        expired = await delete_expired_secrets(connection)
    async with database.connect() as connection:
        records = await delete_expired_records(connection)
    async with database.connect() as connection:
        forgotten = await forget_finished(connection, days=finished_job_days)
    pruned = await prune(database)
    abandoned = await delete_abandoned_uploads(database, store)
    counted = await count_tools(database)
    folded = await fold_all(database)
    imports = await delete_abandoned_archives(store)
    zips = await delete_old_zips(store)
    workspaces = await delete_old_workspaces(database, store)
    orphans = await delete_orphans(database, store)
    log.info(
        "upkeep done",
        expired_secrets=expired,
        expired_records=records,
        abandoned_uploads=abandoned,
        abandoned_imports=imports,
        old_zips=zips,
        old_workspaces=workspaces,
        orphaned_exports=orphans,
        finished_jobs=forgotten,
        counted_trajectories=counted,
        folded_attempts=folded,
        **{f"pruned_{name}": count for name, count in asdict(pruned).items()},
    )
