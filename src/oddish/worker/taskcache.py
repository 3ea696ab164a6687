"""Task directories on this machine, one per content and name, unpacked once and evicted when they are old."""

import asyncio
import contextlib
import hashlib
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

from oddish.cache import DirectoryCache
from oddish.removal import delete
from oddish.storage.store import ArtifactStore
from oddish.tasks.archive import ArchiveLimits, unpack
from oddish.tasks.compose import FILE as COMPOSE_FILE

_NAME_LENGTH = 40
_WORKSPACE = "workspace"
_WITH_SERVICES = tuple(f"{place}/{COMPOSE_FILE}" for place in ("environment", "tests", "steps/*/tests"))


class TaskCache:
    """Unpacked task archives under ``directory``, shared by all workers of this machine."""

    def __init__(
        self, directory: Path, store: ArtifactStore, limits: ArchiveLimits, *, max_bytes: int | None = None
    ) -> None:
        self._cache = DirectoryCache(directory, max_bytes)
        self._store = store
        self._limits = limits

    @contextlib.asynccontextmanager
    async def directory(self, *, content_hash: str, task_name: str, archive_key: str) -> AsyncIterator[Path]:
        """The task's directory, named as the task; it stays for as long as the context is open.

        Raises ``OddishError`` when its archive is gone or unreadable.
        """

        async def make(entry: Path) -> None:
            archive = entry / ".archive"
            await self._store.fetch(archive_key, archive)
            await asyncio.to_thread(unpack, archive, entry / task_name, self._limits)
            await asyncio.to_thread(archive.unlink)

        name = hashlib.sha256(f"{content_hash}/{task_name}".encode()).hexdigest()[:_NAME_LENGTH]
        async with self._cache.hold(name, make) as held:
            yield held.path / task_name

    @contextlib.asynccontextmanager
    async def workspace(self, archive_key: str | None) -> AsyncIterator[Path | None]:
        """The directory of a workspace that is to be verified, as of ``directory``; None where there is none."""
        if archive_key is None:
            yield None
            return
        async with self.directory(content_hash=archive_key, task_name=_WORKSPACE, archive_key=archive_key) as held:
            yield held


@contextlib.asynccontextmanager
async def writable(task: Path, directory: Path, *, further_services: bool = False) -> AsyncIterator[Path]:
    """Where an attempt may let containers bind the files of ``task``: they may write to what they bind.

    A copy in ``directory``, which must not exist, when the task has services or ``further_services`` come with the
    submission; its files share nothing with those of ``task``. Else ``task`` itself, which nothing binds.
    """
    if not further_services and not await asyncio.to_thread(_has_services, task):
        yield task
        return
    copy = directory / task.name
    try:
        await asyncio.to_thread(shutil.copytree, task, copy, symlinks=True)
        yield copy
    finally:
        await asyncio.to_thread(delete, str(directory))


def _has_services(task: Path) -> bool:
    return any(True for pattern in _WITH_SERVICES for _ in task.glob(pattern))
