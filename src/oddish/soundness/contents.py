"""What is looked at of a task's files: their names, sizes and beginnings."""

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from oddish.errors import InvalidTask
from oddish.tasks.package import PublishedFile, publish_set

READ_BYTES = 256 * 1024
GLANCE_BYTES = 128
"""Of a file that is no script: enough to see what it is."""
_PLACES = ("environment", "tests", "solution", "steps")
_SINGLE = ("task.toml", "instruction.md", "README.md")


@dataclass(frozen=True, slots=True)
class Content:
    path: str
    """Relative to the task, with "/"."""
    size: int
    head: bytes
    """At most ``READ_BYTES`` of it."""


@dataclass(frozen=True, slots=True)
class Contents:
    files: tuple[Content, ...]
    refusal: InvalidTask | None
    """Why the task cannot be sent; ``files`` are then all that can be read, ignored or not."""


def read_contents(root: Path) -> Contents:
    """Of the files that are sent to a server."""
    try:
        published = [(entry.path, entry.source) for entry in publish_set(root) if entry.kind == "file"]
    except InvalidTask as error:
        return Contents(tuple(_read(_every_file(root))), error)
    return Contents(tuple(_read(published)), None)


def glance_at(published: Iterable[PublishedFile]) -> Contents:
    """As ``read_contents`` of files that are known, reading no more than the beginning of those that are no scripts."""
    files = [(entry.path, entry.source) for entry in published if entry.kind == "file"]
    return Contents(tuple(_read(files, glance=True)), None)


def _every_file(root: Path) -> Iterator[tuple[str, Path]]:
    for name in _SINGLE:
        yield name, root / name
    for place in _PLACES:
        for directory, _, names in os.walk(root / place):
            for name in sorted(names):
                path = Path(directory, name)
                yield path.relative_to(root).as_posix(), path


def _read(files: Iterable[tuple[str, Path]], *, glance: bool = False) -> Iterator[Content]:
    for name, path in files:
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                continue
            with path.open("rb") as file:
                head = file.read(GLANCE_BYTES if glance else READ_BYTES)
                if glance and (head.startswith(b"#!") or name.endswith((".sh", ".bash"))):
                    head += file.read(READ_BYTES - GLANCE_BYTES)
                yield Content(name, status.st_size, head)
        except OSError:
            continue
