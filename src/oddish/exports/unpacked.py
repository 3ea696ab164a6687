"""Exports on this machine, unpacked when somebody looks at one, and deleted when nobody has for longest."""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

from oddish.cache import DirectoryCache
from oddish.errors import Unavailable
from oddish.exports.intake import extract
from oddish.exports.registry import Export
from oddish.home import private_directory
from oddish.storage.store import ArtifactStore
from oddish.tasks.archive import ArchiveLimits

RESULTS = "results"
ARCHIVE = ".archive"


class UnpackedExports:
    """Results directories below ``directory``, one for each content; all servers of this machine share them."""

    def __init__(self, directory: Path, store: ArtifactStore, limits: ArchiveLimits, *, max_bytes: int) -> None:
        self._directory = directory
        self._cache = DirectoryCache(directory, max_bytes)
        self._store = store
        self._limits = limits

    @contextlib.asynccontextmanager
    async def hold(self, export: Export) -> AsyncIterator[Path]:
        """The results directory, which stays for as long as the context is open.

        Raises ``ObjectNotFound`` when the archive is gone, ``Unavailable`` when it is not what was stored or there is
        no place for it.
        """

        async def make(entry: Path) -> None:
            archive = entry / ARCHIVE
            await self._store.fetch(export.object_key, archive)
            await asyncio.to_thread(_unpack, archive, entry / RESULTS, export.sha256, self._limits)

        async with contextlib.AsyncExitStack() as stack:
            try:
                await asyncio.to_thread(private_directory, self._directory)
                held = await stack.enter_async_context(self._cache.hold(export.sha256, make))
            except OSError as error:
                raise Unavailable(
                    f"The server cannot unpack this export: {error.strerror}.",
                    fix=f"Free space there, or let it write to {self._directory.name}/ in its ODDISH_HOME.",
                ) from error
            yield held.path / RESULTS

    def discard(self, sha256: str) -> None:
        """Delete what is unpacked of an archive, unless somebody looks at it just now."""
        if self._directory.is_dir():
            self._cache.discard(sha256)


def _unpack(archive: Path, directory: Path, sha256: str, limits: ArchiveLimits) -> None:
    with archive.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        raise Unavailable("What the store holds of this export is damaged.", fix="Export it again.")
    extract(archive, directory, limits)
    archive.unlink()
