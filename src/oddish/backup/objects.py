"""The files of the store that a database names: copied into a backup, and back."""

import asyncio
import hashlib
import os
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from oddish.backup.contents import Stored, sha256
from oddish.backup.source import Say
from oddish.regular import open_below
from oddish.storage.errors import ObjectNotFound, StorageUnavailable
from oddish.storage.keys import artifact_key, checked_key
from oddish.storage.manifest import MANIFEST_NAME, read_manifest
from oddish.storage.store import ArtifactStore

CONCURRENCY = 8
_TOLD_EVERY = 1000


@dataclass(frozen=True, slots=True)
class Named:
    """What the rows of a database name: archives by key, and prefixes of attempts below which a manifest lies."""

    archives: tuple[str, ...]
    prefixes: tuple[str, ...]


@dataclass(slots=True)
class Copied:
    stored: list[Stored] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    linked: int = 0
    """Files that an earlier backup had already."""


async def collect(
    store: ArtifactStore, named: Named, target: Path, earlier: Path | None, known: Mapping[str, Stored], say: Say
) -> Copied:
    """Copy what is ``named`` below the directory ``target``; link what the directory ``earlier`` has as in ``known``.

    Files are written once, so one of the same key is the same one.
    """
    copied = Copied()
    wanted = iter(await _wanted(store, named, copied))

    async def work() -> None:
        for key, expected in wanted:
            path = target / checked_key(key)
            path.parent.mkdir(parents=True, exist_ok=True)
            entry = known.get(key)
            if earlier is not None and entry is not None and _link(earlier, key, path, entry.size):
                copied.linked += 1
                copied.stored.append(entry)
                continue
            try:
                size = await store.fetch(key, path)
            except ObjectNotFound:
                copied.missing.append(key)
                continue
            found = Stored(key, size, await asyncio.to_thread(sha256, path))
            copied.stored.append(found)
            if expected not in (None, found.sha256):
                copied.damaged.append(key)
            if len(copied.stored) % _TOLD_EVERY == 0:
                say(f"{len(copied.stored)} files are copied ...")

    await _together(work)
    return copied


async def put_back(store: ArtifactStore, source: Path, files: Iterable[Stored], say: Say) -> list[str]:
    """Store those ``files``, which are below the directory ``source``, that the store does not have.

    The keys of those that are not what had been stored.
    """
    damaged: list[str] = []
    waiting = iter(files)
    done = 0

    async def work() -> None:
        nonlocal done
        for entry in waiting:
            if not await _has(store, entry):
                file = await asyncio.to_thread(_opened, source, entry)
                if file is None:
                    damaged.append(entry.key)
                else:
                    with file:
                        await store.put_file(entry.key, file)
            done += 1
            if done % _TOLD_EVERY == 0:
                say(f"{done} files are restored ...")

    await _together(work)
    return sorted(damaged)


async def _wanted(store: ArtifactStore, named: Named, copied: Copied) -> list[tuple[str, str | None]]:
    """Keys, each with the sum that is known of it."""
    wanted: list[tuple[str, str | None]] = [(key, None) for key in named.archives]
    prefixes = iter(named.prefixes)

    async def work() -> None:
        for prefix in prefixes:
            listing = artifact_key(prefix, MANIFEST_NAME)
            try:
                manifest = await read_manifest(store, prefix)
            except ObjectNotFound:
                copied.missing.append(listing)
            except StorageUnavailable:
                copied.damaged.append(listing)
            else:
                wanted.append((listing, None))
                wanted.extend((artifact_key(prefix, entry.path), entry.sha256) for entry in manifest.files)

    await _together(work)
    return wanted


def _link(earlier: Path, key: str, path: Path, size: int) -> bool:
    """Whether the file of ``key`` below ``earlier`` is still there in full and could be given another name."""
    with suppress(OSError):
        with os.fdopen(open_below(earlier, key), "rb") as file:
            if os.fstat(file.fileno()).st_size != size:
                return False
        path.hardlink_to(earlier / key)
        return True
    return False


def _opened(source: Path, entry: Stored) -> BinaryIO | None:
    """The file of ``entry`` below ``source``; None when it is none, lies behind a link or is not what was stored."""
    with suppress(OSError), ExitStack() as failing:
        file = failing.enter_context(os.fdopen(open_below(source, entry.key), "rb"))
        if hashlib.file_digest(file, "sha256").hexdigest() == entry.sha256:
            file.seek(0)
            failing.pop_all()
            return file
    return None


async def _has(store: ArtifactStore, entry: Stored) -> bool:
    with suppress(ObjectNotFound):
        return (await store.head(entry.key)).size == entry.size
    return False


async def _together(work: Callable[[], Coroutine[None, None, None]]) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(CONCURRENCY):
                group.create_task(work())
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
