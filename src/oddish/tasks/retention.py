"""What uploads leave behind when nobody completes them."""

from datetime import timedelta

from sqlalchemy import delete, exists, func, select
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.db.tables import tasks, uploads
from oddish.storage.store import ArtifactStore

GRACE = timedelta(days=1)
"""After the upload's URL has expired; a slow completion is not cut off."""
BATCH = 500


async def delete_abandoned_uploads(engine: AsyncEngine, store: ArtifactStore) -> int:
    """Delete the archives of uploads that were never completed, then their rows, then names reserved for nothing.

    How many uploads there were. Archives go first, so that none is ever without a row that leads to it.
    """
    async with engine.connect() as connection:
        abandoned = (
            await connection.execute(
                select(uploads.c.id, uploads.c.object_key)
                .where(uploads.c.completed_at.is_(None), uploads.c.expires_at < func.now() - GRACE)
                .order_by(uploads.c.id)
                .limit(BATCH)
            )
        ).all()
    for upload in abandoned:
        await store.delete(upload.object_key)
    async with engine.begin() as connection:
        await connection.execute(
            delete(uploads).where(
                uploads.c.id.in_([upload.id for upload in abandoned]), uploads.c.completed_at.is_(None)
            )
        )
        await connection.execute(
            delete(tasks).where(
                tasks.c.current_version.is_(None),
                tasks.c.last_version == 0,
                tasks.c.created_at < func.now() - GRACE,
                ~exists().where(uploads.c.task_id == tasks.c.id),
            )
        )
    return len(abandoned)
