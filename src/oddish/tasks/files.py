"""The files of a task's versions, read from their archives, which never change."""

import asyncio
import hashlib
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from oddish.errors import NotFound
from oddish.storage.store import ArtifactStore
from oddish.tasks.archive import ArchiveLimits
from oddish.tasks.extraction import Member
from oddish.tasks.tarball import Tarball
from oddish.tasks.versions import TaskVersion

READERS = 2
"""Archives that are read at a time: it takes a processor and a place on the disk."""
LISTINGS_KEPT = 64


@dataclass(frozen=True, slots=True)
class TaskFile:
    """A regular file of an archive."""

    path: str
    size: int
    sha256: str
    executable: bool


class TaskFiles:
    """The archives of one store. Safe to share between the requests of one event loop."""

    def __init__(self, store: ArtifactStore, limits: ArchiveLimits) -> None:
        self._store = store
        self._limits = limits
        self._reading = asyncio.Semaphore(READERS)
        self._listings: OrderedDict[str, Sequence[TaskFile]] = OrderedDict()

    async def listing(self, version: TaskVersion) -> Sequence[TaskFile]:
        """The regular files of a version, sorted. Raises ``ObjectNotFound`` or ``InvalidTask``."""
        known = self._listings.get(version.archive_key)
        if known is None:
            known = await self._read(version, lambda tarball: sorted(_files(tarball), key=lambda file: file.path))
            self._listings[version.archive_key] = known
            while len(self._listings) > LISTINGS_KEPT:
                self._listings.popitem(last=False)
        if version.archive_key in self._listings:
            self._listings.move_to_end(version.archive_key)
        return known

    async def file(self, version: TaskVersion, path: str) -> TaskFile:
        """Raises ``NotFound``."""
        for file in await self.listing(version):
            if file.path == path:
                return file
        raise NotFound(
            f"Version {version.version} of task {version.task_id!r} has no file {path!r}.",
            fix=f"GET /tasks/{version.task_id}/files lists them.",
        )

    async def beginning(self, version: TaskVersion, file: TaskFile, *, max_bytes: int) -> bytes:
        """At most the first ``max_bytes`` of a file."""
        return await self._read(version, lambda tarball: _beginning(tarball, file.path, max_bytes))

    async def _read[Found](self, version: TaskVersion, read: Callable[[Tarball], Found]) -> Found:
        def scan(archive: Path) -> Found:
            with archive.open("rb") as file:
                return read(Tarball(file, self._limits))

        async with self._reading:
            with tempfile.TemporaryDirectory(prefix="oddish-files-", ignore_cleanup_errors=True) as scratch:
                archive = Path(scratch) / "archive.tar.gz"
                await self._store.fetch(version.archive_key, archive)
                return await asyncio.to_thread(scan, archive)


def _files(tarball: Tarball) -> Iterator[TaskFile]:
    for member in tarball.members():
        if member.kind == "file":
            digest, size = hashlib.sha256(), 0
            for chunk in member.content:
                digest.update(chunk)
                size += len(chunk)
            yield TaskFile(_path(member), size, digest.hexdigest(), member.executable)


def _beginning(tarball: Tarball, path: str, max_bytes: int) -> bytes:
    for member in tarball.members():
        if member.kind == "file" and _path(member) == path:
            data = bytearray()
            for chunk in member.content:
                data += chunk[: max_bytes - len(data)]
                if len(data) >= max_bytes:
                    break
            return bytes(data)
        for _ in member.content:
            pass
    return b""


def _path(member: Member) -> str:
    return "/".join(part for part in member.name.split("/") if part not in ("", "."))
