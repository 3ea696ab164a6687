"""The log files of one attempt, read while an agent that nobody trusts writes them.

Nothing is followed, waited for or held open: no symbolic link, pipe or device; and no look takes more than a few limits
allow.
"""

import contextlib
import itertools
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from oddish.regular import open_below
from oddish.transcript import Source
from oddish.worker.folders import Place, Search

READ_BYTES = 256 * 1024
"""Of one file that grows, in one look."""
LOOK_BYTES = 1024 * 1024
"""Of all files that grow, in one look."""
MAX_FILES = 64
"""Of one attempt that are read; further ones are left alone."""
KNOWN_BYTES = 256
"""Of what was read last, to tell whether what follows continues it."""
SKIP_BYTES = 16 * 1024 * 1024
"""Of one copy, in one look, that are passed over because they were read elsewhere."""


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

    def shows(self, status: os.stat_result) -> bool:
        """Whether the file is still as it was."""
        return (self.identity, self.size, self.changed_ns) == _version(status)


class Progress(NamedTuple):
    """How much of a file is read, in terms that hold for a copy without the secrets as well."""

    lines: int = 0
    over: int = 0
    """Bytes since the end of the last line."""

    def after(self, data: bytes) -> "Progress":
        lines = data.count(b"\n")
        return Progress(self.lines + lines, len(data) - data.rfind(b"\n") - 1 if lines else self.over + len(data))


BEGINNING = Progress()


@dataclass
class Mark:
    """How far a file is read in one place."""

    identity: int
    """Of the file."""
    position: int = 0
    progress: Progress = BEGINNING
    known: bytes = b""
    """What is before the position."""
    seen: Look | None = None
    """The last look that left nothing unread."""

    def fits(self, file: int) -> bool:
        return os.pread(file, len(self.known), self.position - len(self.known)) == self.known

    def advance(self, data: bytes) -> None:
        self.position += len(data)
        self.progress = self.progress.after(data)
        self.known = (self.known + data)[-KNOWN_BYTES:]

    def skip(self, file: int, goal: Progress) -> bool:
        """Pass over what was read elsewhere; False when there is not, or not yet, as much."""
        for _ in range(SKIP_BYTES // READ_BYTES):
            if self.progress >= goal or not (data := os.pread(file, READ_BYTES, self.position)):
                break
            if missing := goal.lines - self.progress.lines:
                rest = data.split(b"\n", missing)[missing:]
                self.advance(data[: len(data) - len(*rest)] if rest else data)
            else:
                self.advance(data[: goal.over - self.progress.over])
        return self.progress >= goal


@dataclass
class Reading:
    """One file, wherever it is."""

    source: Source
    place: Place
    """The first of those where it was read."""
    progress: Progress = BEGINNING
    marks: dict[Place, Mark] = field(default_factory=dict)


class LogFiles:
    """The files that match ``sources``, in their order, wherever they are.

    A file that is read in one place goes on in its copy in another one, and never begins again there: Harbor copies
    logs out of a sandbox before it removes it. It then takes the secrets out of them, so that bytes do not tell where
    to go on, but lines do: hence only whole lines are news, unless they are very long or the last. A file begins again
    where another one took its place, or when it has fewer lines than were read.
    """

    def __init__(self, sources: Sequence[Source], *places: Place) -> None:
        self._sources = sources
        self._places = list(places)
        self._readings: dict[str, Reading] = {}
        self._search: Search | None = None
        """The last one."""
        self.behind = False
        """Whether the last look left something unread."""

    def prefer(self, place: Place) -> None:
        """Look there first."""
        if place not in self._places:
            self._places.insert(0, place)
            self._search = None

    def leave_out(self, source: Source) -> bool:
        """Do not read its files; False when one was read already, which goes on."""
        if any(reading.source == source and any(reading.progress) for reading in self._readings.values()):
            return False
        self._sources = [kept for kept in self._sources if kept != source]
        return True

    def may_find_more(self) -> bool:
        """Whether there may be files that the last look for all of them did not find. Opens nothing."""
        return self._search is None or not self._search.holds()

    def changed(self) -> bool:
        """Whether a known file is not as the last look left it, or one may be there where none is. Opens nothing."""
        if not self._readings:
            return self.may_find_more()
        return any(self._differs(path, reading) for path, reading in self._readings.items())

    def news(self, *, known: bool = False, last: bool = False) -> Iterator[Piece]:
        """What has come since the last look; empty once all is read. Files that cannot be read are passed over.

        With ``known``, only files that were there before are looked at, if any were, where they were read last, which
        takes a tenth of the time. With ``last``, a line that does not end is news as well.
        """
        left, self.behind = LOOK_BYTES, False
        for look in self._glances() if known and self._readings else self._looks():
            if look.path not in self._readings and len(self._readings) >= MAX_FILES:
                continue
            with contextlib.suppress(OSError):
                piece = self._whole(look) if look.source.rewritten else self._next(look, left, last=last)
                if piece is not None:
                    left -= 0 if look.source.rewritten else len(piece.data)
                    yield piece

    def _differs(self, path: str, reading: Reading) -> bool:
        if (status := _status(path, reading.place)) is None:
            return False
        mark = reading.marks.get(reading.place)
        return not (mark and mark.seen and mark.seen.shows(status))

    def _glances(self) -> Iterator[Look]:
        for path, reading in self._readings.items():
            if (status := _status(path, reading.place)) is not None:
                yield _look(reading.source, reading.place, path, status)

    def _looks(self) -> Iterable[Look]:
        self._search = search = Search()
        looks: dict[str, list[Look]] = {source.glob: [] for source in self._sources}
        sources = {source.glob: source for source in self._sources}
        for place in self._places:
            for glob, path, status in search.matching(place, list(sources)):
                looks[glob].append(_look(sources[glob], place, path, status))
        return itertools.chain.from_iterable(looks.values())

    def _reading(self, look: Look) -> Reading:
        return self._readings.setdefault(look.path, Reading(look.source, look.place))

    def _next(self, look: Look, left: int, *, last: bool) -> Piece | None:
        reading = self._reading(look)
        mark = reading.marks.get(look.place)
        if not left or (mark and look == mark.seen and not (last and mark.position < look.size)):
            self.behind |= not left
            return None
        most = min(READ_BYTES, left)
        restarted = False
        with _regular(look) as file:
            if mark is None or not mark.fits(file):
                was, mark = mark, Mark(look.identity)
                if was and look.place == reading.place:
                    restarted = was.identity != look.identity or not mark.skip(file, reading.progress)
                if restarted:
                    mark, reading.progress, reading.marks = Mark(look.identity), BEGINNING, {}
                reading.marks[look.place] = mark
            if not mark.skip(file, reading.progress):
                mark.seen = look if mark.position >= look.size else None
                self.behind |= mark.seen is None
                return None
            data = os.pread(file, most, mark.position)
        complete = len(data) < most
        if not last and (complete or b"\n" in data):
            data = data[: data.rfind(b"\n") + 1]
        mark.advance(data)
        mark.identity = look.identity
        mark.seen = look if complete else None
        self.behind |= not complete
        reading.progress = mark.progress
        reading.place = min(reading.place, look.place, key=self._places.index)
        return Piece(look.path, data, restarted) if data or restarted else None

    def _whole(self, look: Look) -> Piece | None:
        mark = self._reading(look).marks.setdefault(look.place, Mark(look.identity))
        limit = look.source.limit
        if look == mark.seen or look.size > limit:
            return None
        with _regular(look) as file, os.fdopen(file, "rb", closefd=False) as stream:
            data = stream.read(limit + 1)
        mark.seen = look
        return Piece(look.path, data, restarted=False) if len(data) <= limit else None


def _status(path: str, place: Place) -> os.stat_result | None:
    """Of a regular file, by its path alone: what leads elsewhere is found out where a file is opened."""
    try:
        status = os.lstat(f"{place.base}/{place.below}/{path}")
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _version(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def _look(source: Source, place: Place, path: str, status: os.stat_result) -> Look:
    return Look(source, place, path, *_version(status))


@contextlib.contextmanager
def _regular(look: Look) -> Iterator[int]:
    file = open_below(look.place.base, f"{look.place.below}/{look.path}")
    try:
        yield file
    finally:
        os.close(file)
