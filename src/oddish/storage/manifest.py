"""Uploading a directory tree that nobody vouches for, with a manifest of what was stored and what was not.

Links are not followed, special files are not opened, and limits bound files, bytes and the scan; all of it is recorded.
"""

import asyncio
import json
import os
import stat
from collections import deque
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from oddish.storage.errors import InvalidKey, StorageUnavailable
from oddish.storage.keys import artifact_key
from oddish.storage.store import ArtifactStore

MANIFEST_NAME = "manifest.json"
MAX_MANIFEST_BYTES = 64 * 1024 * 1024
VERSION = 1


@dataclass(frozen=True, slots=True)
class TreeLimits:
    """Bounds of one tree: stored files, stored bytes, entries looked at, and skipped entries listed by name."""

    max_files: int = 20_000
    max_bytes: int = 2 * 1024**3
    max_scanned: int = 200_000
    max_listed: int = 1_000


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """One stored file: path relative to the tree, bytes, SHA-256 in hex."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class SkippedEntry:
    """Something that was not stored, and why. Undecodable bytes in ``path`` are shown as escapes."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Truncation:
    """What the limits kept out: files, their bytes, and whether the scan itself stopped early."""

    files: int
    bytes: int
    scan_stopped: bool


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is stored below a prefix. ``skipped`` is complete unless ``skipped_count`` says more."""

    files: tuple[ManifestFile, ...]
    skipped: tuple[SkippedEntry, ...]
    skipped_count: int
    truncated: Truncation | None

    def to_json(self) -> bytes:
        return json.dumps({"version": VERSION, **asdict(self)}, ensure_ascii=True, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, data: bytes) -> "Manifest":
        """Raises ``ValueError`` for anything that ``to_json`` did not write."""
        try:
            document: dict[str, Any] = json.loads(data)
            if document["version"] != VERSION:
                raise ValueError(f"manifest version {document['version']!r} is not {VERSION}")
            return cls(
                files=tuple(ManifestFile(**item) for item in document["files"]),
                skipped=tuple(SkippedEntry(**item) for item in document["skipped"]),
                skipped_count=document["skipped_count"],
                truncated=Truncation(**document["truncated"]) if document["truncated"] else None,
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a manifest: {error!r}") from None


async def upload_tree(
    store: ArtifactStore,
    directory: Path,
    prefix: str,
    limits: TreeLimits | None = None,
    *,
    concurrency: int = 8,
) -> Manifest:
    """Store the regular files below ``directory`` under ``prefix`` (by ``artifact_key``), then ``manifest.json``.

    Shallow files come first, and a file that does not fit into the limits leaves room for smaller ones. Raises the
    store's errors; then no manifest was written.
    """
    limits = limits or TreeLimits()
    scan = await asyncio.to_thread(_scan, directory, prefix, limits)
    stored: list[ManifestFile] = []
    waiting = iter(scan.chosen)

    async def send() -> None:
        for path in waiting:
            try:
                # Not in a thread: one that is cancelled meanwhile would leave the file open.
                file = _open_regular(directory / path)
            except OSError as error:
                scan.skip(path, f"cannot be read: {error.strerror}")
                continue
            with file:
                written = await store.put_file(artifact_key(prefix, path), file)
            stored.append(ManifestFile(path, written.size, written.sha256))

    try:
        async with asyncio.TaskGroup() as senders:
            for _ in range(concurrency):
                senders.create_task(send())
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
    manifest = Manifest(
        files=tuple(sorted(stored, key=lambda file: file.path)),
        skipped=tuple(sorted(scan.skipped, key=lambda entry: entry.path)),
        skipped_count=scan.skipped_count,
        truncated=scan.truncation(),
    )
    await store.put(artifact_key(prefix, MANIFEST_NAME), manifest.to_json())
    return manifest


async def read_manifest(store: ArtifactStore, prefix: str) -> Manifest:
    """The manifest below ``prefix``. Raises ``ObjectNotFound``, or ``StorageUnavailable`` when it is damaged."""
    key = artifact_key(prefix, MANIFEST_NAME)
    data = await store.get(key, max_bytes=MAX_MANIFEST_BYTES)
    try:
        return Manifest.from_json(data)
    except ValueError as error:
        raise StorageUnavailable(f'The manifest "{key}" cannot be used: {error}.') from None


class _Scan:
    def __init__(self, limits: TreeLimits) -> None:
        self.chosen: list[str] = []
        self.skipped: list[SkippedEntry] = []
        self.skipped_count = 0
        self.omitted_files = 0
        self.omitted_bytes = 0
        self.stopped = False
        self.bytes = 0
        self._limits = limits

    def skip(self, path: str, reason: str) -> None:
        self.skipped_count += 1
        if len(self.skipped) < self._limits.max_listed:
            shown = path.encode("utf-8", "backslashreplace").decode()
            self.skipped.append(SkippedEntry(shown, reason))

    def choose(self, path: str, size: int) -> None:
        if len(self.chosen) >= self._limits.max_files or self.bytes + size > self._limits.max_bytes:
            self.omitted_files += 1
            self.omitted_bytes += size
            self.skip(path, "over the limits")
            return
        self.chosen.append(path)
        self.bytes += size

    def truncation(self) -> Truncation | None:
        if not self.omitted_files and not self.stopped:
            return None
        return Truncation(self.omitted_files, self.omitted_bytes, self.stopped)


def _scan(directory: Path, prefix: str, limits: TreeLimits) -> _Scan:
    scan = _Scan(limits)
    scanned = 0
    waiting = deque([""])
    while waiting:
        parent = waiting.popleft()
        try:
            with os.scandir(directory / parent) as listing:
                entries = []
                for entry in listing:
                    scanned += 1
                    if scanned > limits.max_scanned:
                        scan.stopped = True
                        break
                    entries.append(entry)
        except OSError as error:
            scan.skip(parent or ".", f"cannot be listed: {error.strerror}")
            continue
        for entry in sorted(entries, key=lambda entry: entry.name):
            path = f"{parent}/{entry.name}" if parent else entry.name
            if entry.is_dir(follow_symlinks=False):
                waiting.append(path)
            else:
                _consider(scan, entry, path, prefix)
        if scan.stopped:
            break
    return scan


def _consider(scan: _Scan, entry: os.DirEntry[str], path: str, prefix: str) -> None:
    try:
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            scan.skip(path, f"symbolic link to {os.readlink(entry.path)!a}")  # noqa: PTH115 - verbatim
        elif not stat.S_ISREG(status.st_mode):
            scan.skip(path, "special file")
        elif path == MANIFEST_NAME:
            scan.skip(path, "the name is reserved for the manifest")
        else:
            artifact_key(prefix, path)
            scan.choose(path, status.st_size)
    except InvalidKey as error:
        scan.skip(path, error.message)
    except OSError as error:
        scan.skip(path, f"cannot be read: {error.strerror}")


def _open_regular(path: Path) -> BinaryIO:
    """Open without following a link or waiting on a pipe that took the file's place since the scan."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "no longer a regular file")
    return os.fdopen(descriptor, "rb")
