"""Records of the images that were built for tasks: what the last build came to, the last use, who is at one just now.

A record is a file ``<tag>.json`` of a state directory, as old as the last use of the image.
"""

import asyncio
import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from oddish.home import private_directory

IMAGES = "oddish-environment"
"""The repository of images that were built for tasks; the tag is the content's."""

_LOCK_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Build:
    """The last build of an image."""

    began: float
    """Seconds since the epoch."""
    error: str | None
    log: str = ""
    blame: bool = True
    """The definition is to blame for the error, not the engine or a registry."""


def records(home: Path) -> Path:
    """The directory of all of them."""
    return private_directory(home / "images")


def read_build(record: Path) -> Build | None:
    """What was recorded; None when nothing readable was."""
    try:
        return Build(**json.loads(record.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def write_build(record: Path, build: Build) -> None:
    record.write_text(json.dumps(asdict(build)))


@contextlib.asynccontextmanager
async def locked(home: Path, image: str) -> AsyncIterator[None]:
    """While no other process of this state directory builds, removes or begins to use ``image``.

    Whatever else only one process should make at a time can be named instead of an image.
    """
    with _lock(home, image) as descriptor:
        while True:
            if _taken(descriptor, fcntl.LOCK_EX):
                break
            await asyncio.sleep(_LOCK_POLL_SECONDS)
        yield


@contextlib.contextmanager
def beginning_to_use(home: Path, image: str) -> Iterator[bool]:
    """Whether nobody builds or removes ``image``; then nobody does meanwhile."""
    with _lock(home, image) as descriptor:
        yield _taken(descriptor, fcntl.LOCK_SH)


@contextlib.contextmanager
def removing(home: Path, image: str) -> Iterator[bool]:
    """Whether nobody builds, removes or begins to use ``image``; then nobody does meanwhile."""
    with _lock(home, image) as descriptor:
        yield _taken(descriptor, fcntl.LOCK_EX)


@contextlib.contextmanager
def _lock(home: Path, image: str) -> Iterator[int]:
    path = records(home) / f"{hashlib.sha256(image.encode()).hexdigest()[:32]}.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _taken(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
