"""Archives that no export is made of: a server died, or the store was away, before they were deleted."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.db.tables import exports
from oddish.exports.keeping import PREFIX
from oddish.storage.store import ArtifactStore

KEPT = timedelta(days=1)
"""Longer than a row takes to follow its archive."""


async def delete_orphans(engine: AsyncEngine, store: ArtifactStore) -> int:
    """How many there were."""
    deleted, after = 0, None
    while True:
        page = await store.list(PREFIX, after=after)
        old = [item.key for item in page.objects if datetime.now(UTC) - item.modified_at > KEPT]
        async with engine.connect() as connection:
            named = select(exports.c.object_key).where(exports.c.object_key.in_(old))
            orphans = set(old).difference((await connection.scalars(named)).all())
        for key in orphans:
            await store.delete(key)
        deleted += len(orphans)
        if page.next_after is None:
            return deleted
        after = page.next_after
