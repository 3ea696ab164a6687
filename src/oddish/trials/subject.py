"""What a submission is about: the task, the version of it, and the trials that are there already."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Select, and_, exists, or_, select
from sqlalchemy.engine import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.db.tables import task_versions, tasks, trials, uploads
from oddish.errors import Conflict
from oddish.identity.principal import Principal
from oddish.tasks.missing import no_task
from oddish.trials.live import is_live


class UnknownContent(Conflict):
    """A content hash that no version of the task has."""

    code = "unknown_content"


async def oldest_environment(connection: AsyncConnection, principal: Principal, task_id: str) -> str | None:
    """The environment of the first trial that ran here and that the task still has, if any. Raises ``NotFound``."""
    oldest = (
        select(trials.c.environment)
        .where(trials.c.task_id == tasks.c.id, trials.c.origin == "oddish", trials.c.deleted_at.is_(None))
        .order_by(trials.c.trial_index)
        .limit(1)
        .scalar_subquery()
    )
    row = (await connection.execute(select(oldest).where(*_visible(principal, task_id)))).one_or_none()
    if row is None:
        raise no_task(task_id)
    environment: str | None = row[0]
    return environment


async def locked_task(connection: AsyncConnection, principal: Principal, task_id: str) -> Row[Any]:
    """The task's row, held against other submissions. Raises ``NotFound``."""
    statement = select(tasks).where(*_visible(principal, task_id)).with_for_update(key_share=True)
    row = (await connection.execute(statement)).one_or_none()
    if row is None:
        raise no_task(task_id)
    return row


def _visible(principal: Principal, task_id: str) -> tuple[Any, ...]:
    return (
        tasks.c.id == task_id,
        tasks.c.org_id == principal.org_id,
        tasks.c.deleted_at.is_(None),
        tasks.c.current_version.is_not(None),
    )


async def chosen_version(connection: AsyncConnection, task: Row[Any], content_hash: str | None) -> Row[Any]:
    """Id, version and definition: of the one with that content, else of the current one. Raises ``UnknownContent``."""
    current = task_versions.c.version == task.current_version
    wanted = current
    if content_hash is not None:
        uploaded = exists().where(
            uploads.c.task_id == task.id,
            uploads.c.client_hash == content_hash,
            uploads.c.version == task_versions.c.version,
        )
        wanted = or_(task_versions.c.content_hash == content_hash, uploaded)
    statement: Select[Any] = (
        select(task_versions.c.id, task_versions.c.version, task_versions.c.definition)
        .where(and_(task_versions.c.task_id == task.id, wanted))
        .order_by(current.desc(), task_versions.c.version.desc())
        .limit(1)
    )
    row: Row[Any] | None = (await connection.execute(statement)).one_or_none()
    if row is None:
        raise UnknownContent(
            f"No version of task {task.id!r} has the content hash {content_hash!r}.", fix="Upload the task again."
        )
    return row


async def live_trials(connection: AsyncConnection, version_id: str, experiment_id: str) -> Sequence[Row[Any]]:
    """Id, unit_hash, environment, status and provider of those that nothing has replaced, in the order of creation."""
    statement: Select[Any] = (
        select(trials.c.id, trials.c.unit_hash, trials.c.environment, trials.c.status, trials.c.provider)
        .where(
            trials.c.task_version_id == version_id,
            trials.c.experiment_id == experiment_id,
            is_live(),
        )
        .order_by(trials.c.trial_index)
    )
    rows: Sequence[Row[Any]] = (await connection.execute(statement)).all()
    return rows
