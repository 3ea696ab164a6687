"""One trial at a time, as clients in use import: described first, its archive sent afterwards if there is one.

The row is there at once, judged by what the client says of it; the archive's record is judged anew when it comes.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from sqlalchemy import Select, select, update
from sqlalchemy.engine import Row
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from oddish.db.tables import attempts, trials
from oddish.errors import NotFound
from oddish.experiments.registry import Experiment, get_or_create
from oddish.identity.principal import Principal
from oddish.imports.archives import newest_of, trial_key, trial_prefix, unpacked
from oddish.imports.claims import Claims
from oddish.imports.reading import Recorded, has_record, read_recorded
from oddish.imports.rows import (
    EPOCH,
    ORIGIN,
    NewTrial,
    add_trials,
    artifact_prefix,
    attempted_of,
    known_trials,
    reserve,
    shown_of,
    time_of,
)
from oddish.storage.manifest import Manifest, TreeLimits, upload_tree
from oddish.storage.store import ArtifactStore
from oddish.tasks.archive import ArchiveLimits
from oddish.trials.passthrough import VARIANT
from oddish.trials.recording import Report

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Announced:
    trial_id: str
    task_id: str
    experiment: Experiment
    prefix: str
    object_key: str | None
    """Where its archive may be sent; None when it has one, or none was wanted."""


@dataclass(frozen=True)
class Completed:
    trial_id: str
    prefix: str
    files: int


async def announce(
    connection: AsyncConnection,
    principal: Principal,
    task_id: str,
    experiment_reference: str | None,
    claims: Claims,
    *,
    with_archive: bool,
) -> Announced:
    """Make the trial, unless the experiment has it, in the caller's transaction. Raises ``NotFound``."""
    experiment = await get_or_create(connection, principal, experiment_reference, user_name=None)
    external = [claims.external_id] if claims.external_id is not None else []
    known = await known_trials(connection, experiment.id, external)
    if not known:
        [place] = await reserve(connection, principal, task_id, [None])
        outcome, report = claims.report()
        trial = NewTrial(
            place=place,
            external_id=claims.external_id,
            agent=claims.agent,
            model=claims.model,
            environment=claims.environment or UNKNOWN,
            agent_config={},
            harbor_config={name: value for name, value in claims.harbor_config.items() if name not in VARIANT},
            started_at=claims.started_at,
            finished_at=claims.finished_at,
            outcome=outcome,
            report=report,
        )
        if await add_trials(connection, principal, experiment, [trial]):
            key = trial_key(principal, place.trial_id) if with_archive else None
            return Announced(place.trial_id, task_id, experiment, place.prefix, key)
        known = await known_trials(connection, experiment.id, external)
    [(trial_id, of_task)] = known.values()
    attempt = await _attempt(connection, principal, trial_id)
    wanted = with_archive and attempt.artifact_prefix is None
    key = trial_key(principal, trial_id) if wanted else None
    return Announced(trial_id, of_task, experiment, _prefix(attempt), key)


@dataclass(frozen=True)
class Arrival:
    """The files of an announced trial, stored below ``prefix``, and what they say of it."""

    trial_id: str
    prefix: str
    manifest: Manifest
    recorded: Recorded | None
    report: Report | None


async def receive(
    engine: AsyncEngine,
    store: ArtifactStore,
    archive: ArchiveLimits,
    tree: TreeLimits,
    principal: Principal,
    trial_id: str,
) -> Arrival | Completed:
    """Unpack and store what arrived last for the trial, unless it has its files.

    Raises ``NotFound``, ``ArchiveNotThere``, and what the archive or the record in it is refused for.
    """
    async with engine.connect() as connection:
        attempt = await _attempt(connection, principal, trial_id)
    if attempt.artifact_prefix is not None:
        return Completed(trial_id, attempt.artifact_prefix, attempt.artifact_files)
    object_key = await newest_of(store, trial_prefix(principal, trial_id))
    prefix = artifact_prefix(trial_id, uuid4())
    async with unpacked(store, object_key, archive) as root:
        directory = await asyncio.to_thread(_trial_directory, root)
        recorded = await asyncio.to_thread(read_recorded, directory) if has_record(directory) else None
        try:
            manifest = await upload_tree(store, directory, prefix, tree)
            provenance = {"external_trial_id": recorded and recorded.external_id}
            report = recorded.report(manifest, prefix, provenance) if recorded else None
        except BaseException:
            await store.delete_prefix(prefix)
            raise
    return Arrival(trial_id, prefix, manifest, recorded, report)


async def settle(connection: AsyncConnection, principal: Principal, arrival: Arrival) -> Completed:
    """Note what arrived, in the caller's transaction, and judge the trial by its record if there is one."""
    files, size = arrival.manifest.files, sum(file.size for file in arrival.manifest.files)
    noted: Mapping[str, Any] = {
        "artifact_prefix": arrival.prefix,
        "artifact_files": len(files),
        "artifact_bytes": size,
    }
    if arrival.recorded is not None and arrival.report is not None:
        noted = attempted_of(arrival.recorded.outcome, arrival.report)
    statement = (
        update(attempts)
        .where(
            attempts.c.trial_id == arrival.trial_id,
            attempts.c.epoch == EPOCH,
            attempts.c.org_id == principal.org_id,
            attempts.c.artifact_prefix.is_(None),
        )
        .values(**noted)
    )
    if not (await connection.execute(statement)).rowcount:
        attempt = await _attempt(connection, principal, arrival.trial_id)
        return Completed(arrival.trial_id, _prefix(attempt), attempt.artifact_files or 0)
    if arrival.recorded is not None and arrival.report is not None:
        recorded = arrival.recorded
        shown = {
            **shown_of(recorded.outcome, arrival.report),
            "environment": recorded.environment,
            "agent_config": dict(recorded.agent_config),
            "started_at": time_of(recorded.started_at),
            "finished_at": time_of(recorded.finished_at),
        }
        await connection.execute(update(trials).where(trials.c.id == arrival.trial_id).values(**shown))
    return Completed(arrival.trial_id, arrival.prefix, len(files))


async def tidy(store: ArtifactStore, principal: Principal, arrival: Arrival, completed: Completed) -> None:
    """Remove the archives of a completed trial, and files that another completion was faster with."""
    if completed.prefix != arrival.prefix:
        await store.delete_prefix(arrival.prefix)
    await store.delete_prefix(trial_prefix(principal, arrival.trial_id))


async def _attempt(connection: AsyncConnection, principal: Principal, trial_id: str) -> Row[Any]:
    statement: Select[Any] = (
        select(attempts.c.trial_id, attempts.c.claim_id, attempts.c.artifact_prefix, attempts.c.artifact_files)
        .join(trials, trials.c.id == attempts.c.trial_id)
        .where(
            trials.c.id == trial_id,
            trials.c.org_id == principal.org_id,
            trials.c.origin == ORIGIN,
            trials.c.deleted_at.is_(None),
        )
    )
    row: Row[Any] | None = (await connection.execute(statement)).one_or_none()
    if row is None:
        raise NotFound(f"There is no imported trial {trial_id!r} here.", fix="Start with POST /trials/import/init.")
    return row


def _prefix(attempt: Row[Any]) -> str:
    prefix: str = attempt.artifact_prefix or artifact_prefix(attempt.trial_id, attempt.claim_id)
    return prefix


def _trial_directory(root: Path) -> Path:
    """``root``, or the only directory in it that holds a trial's record."""
    if has_record(root):
        return root
    inner = [path for path in root.iterdir() if path.is_dir() and not path.is_symlink() and has_record(path)]
    return inner[0] if len(inner) == 1 else root
