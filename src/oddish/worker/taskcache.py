"""Task directories on this machine, one per content hash, unpacked once."""

import asyncio
import errno
import shutil
import tempfile
from collections import defaultdict
from pathlib import Path

from oddish.storage.store import ArtifactStore
from oddish.tasks.archive import ArchiveLimits, unpack


class TaskCache:
    """Unpacked task archives under ``directory``; a directory that exists there is complete."""

    def __init__(self, directory: Path, store: ArtifactStore, limits: ArchiveLimits) -> None:
        self._directory = directory
        self._store = store
        self._limits = limits
        self._turns: defaultdict[Path, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def directory(self, *, content_hash: str, task_name: str, archive_key: str) -> Path:
        """The task's directory, named as the task. Raises ``OddishError`` when its archive is gone or unreadable."""
        path = self._directory / content_hash.replace(":", "-") / task_name
        async with self._turns[path]:
            if not path.is_dir():
                await self._unpack(archive_key, path)
        return path

    async def _unpack(self, archive_key: str, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        scratch = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=self._directory))
        try:
            archive = scratch / "task.tar.gz"
            await self._store.fetch(archive_key, archive)
            await asyncio.to_thread(self._install, archive, scratch / "task", path)
        finally:
            await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)

    def _install(self, archive: Path, fresh: Path, path: Path) -> None:
        unpack(archive, fresh, self._limits)
        try:
            fresh.rename(path)
        except OSError as error:
            # Another worker of this machine was faster.
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
