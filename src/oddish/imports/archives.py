"""Where archives of finished trials are put, and what is in one. Nothing but their keys says whose they are."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from oddish import ids
from oddish.errors import InvalidTask, TooLarge
from oddish.identity.principal import Principal
from oddish.imports.errors import ArchiveNotThere, InvalidArchive
from oddish.storage.errors import ObjectNotFound
from oddish.storage.store import ArtifactStore
from oddish.tasks.archive import ArchiveLimits, unpack

PREFIX = "imports"
SMALLER = "Send fewer trials at a time, or their records only (oddish upload --skip-artifacts)."


def batch_key(principal: Principal, import_id: str) -> str:
    """Of the archive that only this user can complete."""
    return f"{PREFIX}/{principal.org_id}/{principal.user_id}/{import_id}.tar.gz"


def trial_prefix(principal: Principal, trial_id: str) -> str:
    """Below which the archives of one trial arrive, one for each time that it was announced."""
    return f"{PREFIX}/{principal.org_id}/trials/{trial_id}"


def trial_key(principal: Principal, trial_id: str) -> str:
    """A new one at each call, because a signed URL may be used after the next one was given."""
    return f"{trial_prefix(principal, trial_id)}/{ids.row_id('imp')}.tar.gz"


async def newest_of(store: ArtifactStore, prefix: str) -> str:
    """The key of the archive that arrived last below ``prefix``. Raises ``ArchiveNotThere``."""
    found = (await store.list(prefix)).objects
    if not found:
        raise _missing()
    return max(found, key=lambda item: (item.modified_at, item.key)).key


@asynccontextmanager
async def unpacked(store: ArtifactStore, object_key: str, limits: ArchiveLimits) -> AsyncIterator[Path]:
    """A directory with the content of an archive, gone afterwards.

    Raises ``ArchiveNotThere``, ``TooLarge``, and ``InvalidArchive`` naming the member that is refused.
    """
    try:
        size = (await store.head(object_key)).size
    except ObjectNotFound:
        raise _missing() from None
    if size > limits.max_bytes:
        raise TooLarge(f"The archive has {size} bytes, more than {limits.max_bytes}.", fix=SMALLER)
    scratch = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="oddish-import-"))
    try:
        archive, root = scratch / "archive.tar.gz", scratch / "content"
        await store.fetch(object_key, archive)
        await asyncio.to_thread(_unpack, archive, root, limits)
        yield root
    finally:
        await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)


def _unpack(archive: Path, root: Path, limits: ArchiveLimits) -> None:
    try:
        unpack(archive, root, limits)
    except InvalidTask as error:
        raise InvalidArchive(error.message, fix="Pack the trial directories again.") from error
    except TooLarge as error:
        raise TooLarge(error.message, fix=SMALLER) from error
    archive.unlink()


def _missing() -> ArchiveNotThere:
    return ArchiveNotThere(
        "The archive of this import is not there.", fix="Send it with PUT to the upload_url first, then complete it."
    )
