"""What imports leave behind when nobody completes them."""

from datetime import UTC, datetime, timedelta

from oddish.imports.archives import PREFIX
from oddish.storage.store import ArtifactStore

KEPT = timedelta(days=2)
"""Longer than a signed URL is valid and a completion takes."""


async def delete_abandoned_archives(store: ArtifactStore) -> int:
    """Delete archives of trials that arrived long ago; how many there were."""
    deleted, after = 0, None
    while True:
        page = await store.list(PREFIX, after=after)
        for item in page.objects:
            if datetime.now(UTC) - item.modified_at > KEPT:
                await store.delete(item.key)
                deleted += 1
        if page.next_after is None:
            return deleted
        after = page.next_after
