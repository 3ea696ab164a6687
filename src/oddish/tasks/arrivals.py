"""Archives and the uploads they belong to: which have arrived, and which nobody waits for any more."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, exists, or_, select, update
from sqlalchemy.engine import Row
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.db.tables import task_versions, tasks, uploads
from oddish.identity.principal import Principal
from oddish.storage.store import ArtifactStore

LOOKED_FOR_SINGLY = 10
"""The newest uploads; archives of older ones are found by a listing of the store."""
TASKS = "tasks"
"""The first part of the keys of archives."""
DISCARDED = ""
"""In place of the client's hash, which is never empty: nobody can complete the upload any more."""

is_open: ColumnElement[bool] = uploads.c.completed_at.is_(None)


def upload_prefix(task_id: str) -> str:
    """Where the task's archives are kept, one for each upload."""
    return f"{TASKS}/{task_id}/uploads"


def uploads_of(principal: Principal, task_id: str, client_hash: str, state: ColumnElement[bool]) -> Select[Any]:
    """The caller's uploads of that content in that state; one row without an upload when there are none."""
    own = and_(
        uploads.c.task_id == tasks.c.id,
        uploads.c.client_hash == client_hash,
        uploads.c.user_id == principal.user_id,
        state,
    )
    return (
        select(uploads, tasks.c.name)
        .select_from(tasks.outerjoin(uploads, own))
        .where(tasks.c.id == task_id, tasks.c.org_id == principal.org_id, tasks.c.deleted_at.is_(None))
    )


def newest(found: Select[Any], count: int) -> Select[Any]:
    return found.order_by(uploads.c.created_at.desc()).limit(count)


async def arrived(store: ArtifactStore, waiting: Sequence[Row[Any]]) -> Row[Any] | None:
    """The newest upload whose archive waits to be read."""
    for upload in waiting:
        if upload.id is not None and await store.exists(upload.object_key):
            return upload
    return None


async def arrived_before(
    engine: AsyncEngine, store: ArtifactStore, task_id: str, waiting: Select[Any]
) -> Row[Any] | None:
    """As ``arrived``, of any number of uploads: asks which of the task's archives belong to one of them."""
    after: str | None = None
    while True:
        page = await store.list(upload_prefix(task_id), after=after)
        keys = [entry.key for entry in page.objects]
        async with engine.connect() as connection:
            found = (await connection.execute(newest(waiting.where(uploads.c.object_key.in_(keys)), 1))).all()
        if found or page.next_after is None:
            return found[0] if found else None
        after = page.next_after


async def discard(engine: AsyncEngine, store: ArtifactStore, upload: Row[Any]) -> None:
    """The row stays until its URL has expired, so that what still arrives there is found and deleted."""
    closing = update(uploads).where(uploads.c.id == upload.id, is_open).values(client_hash=DISCARDED)
    async with engine.begin() as connection:
        discarded = (await connection.execute(closing)).rowcount
    if discarded:
        await store.delete(upload.object_key)


async def drop_unneeded(engine: AsyncEngine, store: ArtifactStore, object_key: str) -> None:
    """Delete an archive that arrived after its upload was discarded, or completed with another one.

    Called after the archive was stored, as completions delete after they commit: one of the two sees it. What is no
    archive of a task is left alone.
    """
    if not object_key.startswith(f"{TASKS}/"):
        return
    of_version = exists().where(
        task_versions.c.task_id == uploads.c.task_id,
        task_versions.c.version == uploads.c.version,
        task_versions.c.archive_key == uploads.c.object_key,
    )
    awaited = and_(is_open, uploads.c.client_hash != DISCARDED)
    async with engine.connect() as connection:
        needed = await connection.scalar(
            select(exists().where(uploads.c.object_key == object_key, or_(awaited, of_version)))
        )
    if not needed:
        await store.delete(object_key)
