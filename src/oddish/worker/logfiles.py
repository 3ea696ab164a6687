"""The log files of one attempt, read while an agent that nobody trusts writes them.

Nothing is followed, waited for or held open: no symbolic link, pipe or device; and no look takes more than a few limits
allow.
"""

import contextlib
import fnmatch
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from oddish.regular import open_below
from oddish.transcript import Source

READ_BYTES = 256 * 1024
"""Of one file that grows, in one look."""
LOOK_BYTES = 1024 * 1024
"""Of all files that grow, in one look."""
MAX_FILES = 64
"""Of one attempt that are read; further ones are left alone."""
MAX_ENTRIES = 2000
"""Names that one look goes through."""
KNOWN_BYTES = 256
"""Of what was read last, to tell whether what follows continues it."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Place(NamedTuple):
    """A folder of logs: ``below`` names it from ``base``, which only the worker's side can replace."""

    base: Path
    below: str


class Piece(NamedTuple):
    """What is new in a file; ``path`` is relative to the folder of logs."""

    path: str
    data: bytes
    restarted: bool
    """Whether the data is the beginning of a file that replaced the former one."""


class Look(NamedTuple):
    """One file as a look finds it."""

    source: Source
    place: Place
    path: str
    identity: int
    size: int
    changed_ns: int


@dataclass
class Reading:
    """How far a file is read."""

    source: Source
    place: Place
    position: int = 0
    known: bytes = b""
    read: dict[Place, Look] = field(default_factory=dict)
    """By place, the last look that left nothing unread."""


class LogFiles:
    """The files that match ``sources``, in their order, wherever they are.

    A file that is read in one place goes on in its copy in a later one, and never begins again there: Harbor copies
    logs out of a sandbox before it removes it.
    """

    def __init__(self, sources: Sequence[Source], *places: Place) -> None:
        self._sources = sources
        self._places = list(places)
        self._readings: dict[str, Reading] = {}

    def prefer(self, place: Place) -> None:
        """Look there first."""
        if place not in self._places:
            self._places.insert(0, place)

    def leave_out(self, source: Source) -> bool:
        """Do not read its files; False when one was read already, which goes on."""
        if any(reading.source == source and reading.position for reading in self._readings.values()):
            return False
        self._sources = [kept for kept in self._sources if kept != source]
        return True

    def news(self) -> Iterator[Piece]:
        """What has come since the last look; empty once all is read. Files that cannot be read are passed over."""
        left = LOOK_BYTES
        for source in self._sources:
            for look in self._looks(source):
                if look.path not in self._readings and len(self._readings) >= MAX_FILES:
                    continue
                with contextlib.suppress(OSError):
                    piece = self._whole(look) if source.rewritten else self._next(look, left)
                    if piece is not None:
                        left -= 0 if source.rewritten else len(piece.data)
                        yield piece

    def _looks(self, source: Source) -> Iterator[Look]:
        entries = iter(range(MAX_ENTRIES))
        for place in self._places:
            with contextlib.suppress(OSError), _opened(place) as folder:
                for path, status in _matching(folder, source.glob.split("/"), entries):
                    yield Look(source, place, path, status.st_ino, status.st_size, status.st_mtime_ns)

    def _reading(self, look: Look) -> Reading:
        return self._readings.setdefault(look.path, Reading(look.source, look.place))

    def _next(self, look: Look, left: int) -> Piece | None:
        reading = self._reading(look)
        if look == reading.read.get(look.place) or not left:
            return None
        most = min(READ_BYTES, left)
        with _regular(look) as file:
            start = reading.position - len(reading.known)
            data = os.pread(file, len(reading.known) + most, start)
            restarted = not data.startswith(reading.known)
            if restarted:
                if self._places.index(look.place) > self._places.index(reading.place):
                    reading.read[look.place] = look
                    return None
                reading.place, reading.position, reading.known = look.place, 0, b""
                data = os.pread(file, most, 0)
            else:
                reading.place = min(reading.place, look.place, key=self._places.index)
                data = data[len(reading.known) :]
        reading.position += len(data)
        reading.known = (reading.known + data)[-KNOWN_BYTES:]
        if reading.position >= look.size:
            reading.read[look.place] = look
        return Piece(look.path, data, restarted) if data or restarted else None

    def _whole(self, look: Look) -> Piece | None:
        reading = self._reading(look)
        limit = look.source.limit
        if look == reading.read.get(look.place) or look.size > limit:
            return None
        with _regular(look) as file, os.fdopen(file, "rb", closefd=False) as stream:
            data = stream.read(limit + 1)
        reading.read[look.place] = look
        return Piece(look.path, data, restarted=False) if len(data) <= limit else None


@contextlib.contextmanager
def _opened(place: Place) -> Iterator[int]:
    at = os.open(place.base, _FOLDER)
    try:
        for part in place.below.split("/"):
            inner = os.open(part, _FOLDER, dir_fd=at)
            os.close(at)
            at = inner
        yield at
    finally:
        os.close(at)


@contextlib.contextmanager
def _regular(look: Look) -> Iterator[int]:
    file = open_below(look.place.base, f"{look.place.below}/{look.path}")
    try:
        yield file
    finally:
        os.close(file)


def _matching(
    folder: int, parts: Sequence[str], entries: Iterator[int], above: str = ""
) -> Iterator[tuple[str, os.stat_result]]:
    """Regular files below ``folder`` whose path matches ``parts``, as long as there are ``entries`` to go through."""
    part, *rest = parts
    for name in _names(folder, part, entries):
        with contextlib.suppress(OSError):
            if rest:
                inner = os.open(name, _FOLDER, dir_fd=folder)
                try:
                    yield from _matching(inner, rest, entries, f"{above}{name}/")
                finally:
                    os.close(inner)
            elif stat.S_ISREG((status := os.stat(name, dir_fd=folder, follow_symlinks=False)).st_mode):
                yield above + name, status


def _names(folder: int, pattern: str, entries: Iterator[int]) -> list[str]:
    if not any(sign in pattern for sign in "*?["):
        return [pattern]
    with os.scandir(folder) as found:
        return sorted(
            entry.name for entry, _ in zip(found, entries, strict=False) if fnmatch.fnmatch(entry.name, pattern)
        )
