"""Writing one file into the store in a single pass that also measures and hashes it."""

import asyncio
import errno
import hashlib
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import obstore
from obstore.store import ObjectStore

from oddish.storage.keys import STAGING

CHUNK_BYTES = 1024 * 1024
MULTIPART_BYTES = 8 * CHUNK_BYTES
"""Files of more bytes go to a bucket in parts of this size."""
EXACT_ONCE_BYTES = 64 * CHUNK_BYTES
"""A bucket creates an object conditionally only in one piece, which is held in memory."""
STALE_AFTER_SEC = 24 * 3600


@dataclass(frozen=True, slots=True)
class Written:
    """Size in bytes and SHA-256 (64 hex digits) of what was stored."""

    size: int
    sha256: str


def write_local(root: Path, key: str, source: IO[bytes], *, write_once: bool) -> Written:
    """Copy into the directory of a local store; readers see the whole object or none."""
    target = root / key
    staging = root / STAGING
    staging.mkdir(mode=0o700, exist_ok=True)
    # A name ending in "#" and digits is what the backend's listings leave out.
    partial = staging / f"{secrets.token_hex(16)}#0"
    hashing = _Hashing(source)
    try:
        with partial.open("xb") as file:
            for chunk in hashing:
                file.write(chunk)
        _make_directory(target.parent)
        if write_once:
            target.hardlink_to(partial)
        else:
            partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return hashing.written


async def write_remote(store: ObjectStore, key: str, source: IO[bytes], *, write_once: bool) -> Written:
    """Send to a bucket: in one piece when small or conditional, else in parts."""
    hashing = _Hashing(source)
    if hashing.expected <= (EXACT_ONCE_BYTES if write_once else MULTIPART_BYTES):
        data = await asyncio.to_thread(lambda: b"".join(hashing))
        await obstore.put_async(store, key, data, mode="create" if write_once else "overwrite", use_multipart=False)
        return hashing.written
    if write_once and await _exists(store, key):
        raise FileExistsError(key)
    await obstore.put_async(
        store, key, iter(hashing), use_multipart=True, chunk_size=MULTIPART_BYTES, max_concurrency=4
    )
    return hashing.written


def remove_stale_staging(root: Path) -> None:
    """Remove what writers that died long ago left behind."""
    for partial in (root / STAGING).glob("*"):
        with suppress(FileNotFoundError):
            if time.time() - partial.stat().st_mtime > STALE_AFTER_SEC:
                partial.unlink()


def prune_empty(directory: Path) -> None:
    """Remove ``directory`` and what is below it as far as only empty directories are there."""
    for path, _, _ in os.walk(directory, topdown=False):
        with suppress(OSError):
            Path(path).rmdir()


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from None


async def _exists(store: ObjectStore, key: str) -> bool:
    try:
        await obstore.head_async(store, key)
    except FileNotFoundError:
        return False
    return True


class _Hashing:
    """Iterates once over the bytes that a file has now; ``written`` describes them afterwards."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._digest = hashlib.sha256()
        self._size = 0
        self.expected = os.fstat(source.fileno()).st_size - source.tell()

    def __iter__(self) -> Iterator[bytes]:
        while chunk := self._source.read(min(CHUNK_BYTES, self.expected - self._size)):
            self._digest.update(chunk)
            self._size += len(chunk)
            yield chunk

    @property
    def written(self) -> Written:
        return Written(self._size, self._digest.hexdigest())
