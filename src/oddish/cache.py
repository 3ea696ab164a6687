"""Directories that are made once, used by many processes, and deleted when nobody has used them for longest.

``<directory>/<name>`` is complete when it exists: it appears by one rename. Its modification time is that of its last
use. Beside it, ``<name>.lock`` is locked by everybody who uses it (shared) and by whoever makes or deletes it; its
content is the size in bytes.
"""

import asyncio
import contextlib
import fcntl
import os
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from oddish.removal import delete, used_bytes

_POLL_SECONDS = 0.02
_PARTIAL = ".partial-"
_ABANDONED_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class Held:
    """An entry that is not deleted for as long as ``lock`` is open, here or in a process that inherited it."""

    path: Path
    lock: int


class DirectoryCache:
    """The entries below ``directory``, which must exist; all processes of one user on this machine share them."""

    def __init__(self, directory: Path, max_bytes: int | None = None) -> None:
        self.directory = directory
        self._max_bytes = max_bytes

    @contextlib.asynccontextmanager
    async def hold(self, name: str, make: Callable[[Path], Awaitable[None]]) -> AsyncIterator[Held]:
        """The entry ``name``; when there is none, ``make`` fills an empty directory first, in one process only."""
        held = self._held(name)
        while held is None:
            await self._make_unless_busy(name, make)
            held = self._held(name)
        try:
            yield held
        finally:
            os.close(held.lock)

    def evict(self) -> tuple[str, ...]:
        """Delete what has not been used for longest until the rest fits; their names. What is in use stays."""
        self._remove_abandoned()
        if self._max_bytes is None:
            return ()
        entries = sorted(self._entries(), key=lambda entry: entry[0])
        total = sum(size for _, size, _ in entries)
        removed = []
        for _, size, path in entries:
            if total <= self._max_bytes:
                break
            if self._remove(path):
                total -= size
                removed.append(path.name)
        return tuple(removed)

    def discard(self, name: str) -> bool:
        """Delete the entry ``name``, unless it is in use; whether there was one and it is gone."""
        return (self.directory / name).is_dir() and self._remove(self.directory / name)

    def _held(self, name: str) -> Held | None:
        """The entry, if there is one that nobody is making or deleting."""
        path = self.directory / name
        if not path.is_dir() or (lock := self._locked(name, fcntl.LOCK_SH)) is None:
            return None
        try:
            os.utime(path)
        except FileNotFoundError:
            os.close(lock)
            return None
        return Held(path, lock)

    async def _make_unless_busy(self, name: str, make: Callable[[Path], Awaitable[None]]) -> None:
        lock = self._locked(name, fcntl.LOCK_EX)
        if lock is None:
            await asyncio.sleep(_POLL_SECONDS)
            return
        try:
            if not (self.directory / name).is_dir():
                await self._make(self.directory / name, lock, make)
        finally:
            os.close(lock)

    async def _make(self, path: Path, lock: int, make: Callable[[Path], Awaitable[None]]) -> None:
        partial = Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=self.directory))
        alive = os.open(partial, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(alive, fcntl.LOCK_EX)
            await make(partial)
            await asyncio.to_thread(_finish, partial, path, lock)
        finally:
            os.close(alive)
            await asyncio.to_thread(delete, str(partial))
        await asyncio.to_thread(self.evict)

    def _lock_path(self, name: str) -> Path:
        return self.directory / f"{name}.lock"

    def _locked(self, name: str, kind: int) -> int | None:
        """A descriptor with a lock, or None while others have it or have just deleted it with its entry."""
        path = self._lock_path(name)
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with contextlib.suppress(BlockingIOError, FileNotFoundError):
            fcntl.flock(lock, kind | fcntl.LOCK_NB)
            if os.path.samestat(path.stat(), os.fstat(lock)):
                return lock
        os.close(lock)
        return None

    def _entries(self) -> list[tuple[float, int, Path]]:
        found = []
        with os.scandir(self.directory) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                    path = Path(entry.path)
                    with contextlib.suppress(FileNotFoundError):
                        found.append((path.lstat().st_mtime, self._size(path), path))
        return found

    def _size(self, path: Path) -> int:
        with contextlib.suppress(OSError, ValueError):
            return int(self._lock_path(path.name).read_text())
        return used_bytes(str(path))

    def _remove(self, path: Path) -> bool:
        lock = self._locked(path.name, fcntl.LOCK_EX)
        if lock is None:
            return False
        try:
            doomed = path.rename(path.with_name(f"{_PARTIAL}{path.name}-{time.monotonic_ns()}"))
            self._lock_path(path.name).unlink()
        except FileNotFoundError:
            return False
        finally:
            os.close(lock)
        delete(str(doomed))
        return True

    def _remove_abandoned(self) -> None:
        """What a process left half made or half deleted when it was killed."""
        for path in self.directory.glob(f"{_PARTIAL}*"):
            with contextlib.suppress(OSError):
                descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    old = time.time() - path.stat().st_ctime > _ABANDONED_SECONDS
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if old:
                        delete(str(path))
                finally:
                    os.close(descriptor)


def _finish(partial: Path, path: Path, lock: int) -> None:
    size = str(used_bytes(str(partial))).encode()
    os.ftruncate(lock, 0)
    os.pwrite(lock, size, 0)
    partial.rename(path)
