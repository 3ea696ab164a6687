"""What jobs of the gateway leave in the store, and how long it stays there.

The files of trials are not among it: those stay.
"""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.gateway import artifacts, workspace
from oddish.storage.store import ArtifactStore, StoredObject

# Those of some workspaces that trials may yet be given. Locks: none.
NEEDED = text("""
SELECT workspace_key FROM gateway_jobs
WHERE workspace_key = ANY (CAST(:keys AS text[])) AND status IN ('queued', 'running')
""")

# Locks: gateway_jobs.
FORGET = text("UPDATE gateway_jobs SET workspace_key = NULL WHERE workspace_key = ANY (CAST(:keys AS text[]))")


async def delete_old_zips(store: ArtifactStore) -> int:
    """Delete the zips of artifacts that are past their time; how many there were."""
    deleted = 0
    async for page in _older(store, artifacts.PREFIX, artifacts.KEPT):
        for item in page:
            await store.delete(item.key)
        deleted += len(page)
    return deleted


async def delete_old_workspaces(database: AsyncEngine, store: ArtifactStore) -> int:
    """Delete the workspaces of verifications that have ended, or that came to nothing; how many there were."""
    deleted = 0
    async for page in _older(store, workspace.PREFIX, workspace.KEPT):
        async with database.connect() as connection:
            needed = set((await connection.scalars(NEEDED, {"keys": [item.key for item in page]})).all())
        keys = [item.key for item in page if item.key not in needed]
        async with database.begin() as connection:
            await connection.execute(FORGET, {"keys": keys})
        for key in keys:
            await store.delete(key)
        deleted += len(keys)
    return deleted


async def _older(store: ArtifactStore, prefix: str, age: timedelta) -> AsyncIterator[list[StoredObject]]:
    """Page by page."""
    after = None
    while True:
        page = await store.list(prefix, after=after)
        if found := [item for item in page.objects if datetime.now(UTC) - item.modified_at > age]:
            yield found
        if page.next_after is None:
            return
        after = page.next_after
