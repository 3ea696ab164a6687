"""The versions of a task, as they are read."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, exists, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.db.tables import task_versions, tasks
from oddish.errors import NotFound
from oddish.identity.principal import Principal
from oddish.tasks.missing import no_task

LIMIT = 1000


@dataclass(frozen=True)
class TaskVersion:
    id: str
    task_id: str
    version: int
    content_hash: str
    archive_key: str
    archive_bytes: int
    message: str | None
    created_by: str
    created_at: datetime
    is_current: bool


async def list_versions(connection: AsyncConnection, principal: Principal, task_id: str) -> Sequence[TaskVersion]:
    """The newest first, at most ``LIMIT``. Raises ``NotFound`` when there is none."""
    found = await _read(connection, _versions(principal, task_id).limit(LIMIT))
    if not found:
        raise _unknown(task_id, None)
    return found


async def find_version(
    connection: AsyncConnection, principal: Principal, task_id: str, version: int | None
) -> TaskVersion:
    """The one of that number, the current one for None. Raises ``NotFound``."""
    wanted = tasks.c.current_version if version is None else version
    found = await _read(connection, _versions(principal, task_id).where(task_versions.c.version == wanted))
    if not found:
        raise _unknown(task_id, version)
    return found[0]


async def make_default(connection: AsyncConnection, principal: Principal, task_id: str, version: int) -> TaskVersion:
    """Make a version the current one, which new trials run. Raises ``NotFound``. Locks: tasks."""
    there = exists().where(task_versions.c.task_id == tasks.c.id, task_versions.c.version == version)
    mine = and_(tasks.c.id == task_id, tasks.c.org_id == principal.org_id, tasks.c.deleted_at.is_(None))
    await connection.execute(
        update(tasks)
        .where(mine, there, tasks.c.current_version != version)
        .values(current_version=version, updated_at=func.now())
    )
    return await find_version(connection, principal, task_id, version)


def _versions(principal: Principal, task_id: str) -> Select[Any]:
    return (
        select(
            task_versions.c.id,
            task_versions.c.task_id,
            task_versions.c.version,
            task_versions.c.content_hash,
            task_versions.c.archive_key,
            task_versions.c.archive_bytes,
            task_versions.c.message,
            task_versions.c.created_by,
            task_versions.c.created_at,
            (task_versions.c.version == tasks.c.current_version).label("is_current"),
        )
        .join(tasks, tasks.c.id == task_versions.c.task_id)
        .where(tasks.c.id == task_id, tasks.c.org_id == principal.org_id, tasks.c.deleted_at.is_(None))
        .order_by(task_versions.c.version.desc())
    )


async def _read(connection: AsyncConnection, statement: Select[Any]) -> list[TaskVersion]:
    return [TaskVersion(**row._mapping) for row in await connection.execute(statement)]


def _unknown(task_id: str, version: int | None) -> NotFound:
    if version is None:
        return no_task(task_id)
    return NotFound(
        f"There is no version {version} of task {task_id!r} here.",
        fix=f"`oddish status {task_id} --versions` lists those there are.",
    )


def version_where(task_id: str, condition: ColumnElement[bool]) -> Select[Any]:
    """Number and content of the task's version of which that is true: the current one, else the newest."""
    is_current = task_versions.c.version == tasks.c.current_version
    return (
        select(task_versions.c.version, task_versions.c.content_hash, is_current.label("is_current"))
        .join(tasks, tasks.c.id == task_versions.c.task_id)
        .where(tasks.c.id == task_id, condition)
        .order_by(is_current.desc(), task_versions.c.version.desc())
        .limit(1)
    )
