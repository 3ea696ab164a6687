"""Files of a results directory, which others may be writing: what was last read of each stays until it reads again.

Nothing is written, locked or followed by a link. Sizes are capped before anything is parsed.
"""

import gc
import json
import os
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

from oddish.documents import Parse, open_below, parse_object, too_deep
from oddish.storable import storable
from oddish.viewer.findings import Finding, Level, Notes

KEPT_BYTES = 48 * 1024 * 1024
"""Of the files whose content is remembered. What is read of them takes up to five times as much."""

KEPT_FAILURES = 1024
"""Files that could not be read: what is wrong is said again without looking, until they change."""

LARGE_BYTES = 1024 * 1024
"""From here on files are read one at a time: those who ask for one at once get what comes of it, and memory is kept."""

_UNSTORABLE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
"""Escapes of NUL and of halves of a character."""

type _Stamp = tuple[int, int, int]
"""Time of the last change, size, inode."""
type Reader[T] = Callable[[Mapping[str, Any], Notes], T]


@dataclass(frozen=True, slots=True)
class Reading[T]:
    """What is known of one file."""

    value: T | None
    findings: tuple[Finding, ...] = ()
    is_stale: bool = False
    """The file cannot be read now; the value is what it last was."""


@dataclass(frozen=True, slots=True)
class _Kept:
    stamp: _Stamp
    reading: Reading[Any]
    size: int


@dataclass(frozen=True, slots=True)
class _Failed:
    stamp: _Stamp
    problem: str


class Files:
    """Documents below ``root``, each parsed once for as long as it does not change. Safe to share between threads."""

    def __init__(self, root: Path, parse: Parse = json.loads) -> None:
        self.root = root
        self._parse = parse
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._kept_bytes = 0
        self._failed: OrderedDict[str, _Failed] = OrderedDict()
        self._lock = Lock()
        self._one_at_a_time = Lock()

    def read[T](self, path: str, limit: int, reader: Reader[T]) -> Reading[T]:
        """The JSON object in a file of at most ``limit`` bytes, as ``reader`` takes it, the same one for each path."""
        with self._lock:
            kept = self._kept.get(path)
        try:
            file = os.fdopen(open_below(self.root, path), "rb")
        except FileNotFoundError:
            return _last(kept, path, "is missing.", "warning")
        except OSError:
            return _last(kept, path, "is a link, no regular file, or not readable.")
        with file:
            status = os.fstat(file.fileno())
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if (known := self._known(path, stamp)) is not None:
                return known
            if status.st_size < LARGE_BYTES:
                return self._read(file, path, stamp, limit, reader)
            with self._one_at_a_time:
                return self._known(path, stamp) or self._read(file, path, stamp, limit, reader)

    def _known(self, path: str, stamp: _Stamp) -> Reading[Any] | None:
        """What came of this version of the file before, a failure too."""
        with self._lock:
            kept, failed = self._kept.get(path), self._failed.get(path)
        if failed is not None and failed.stamp == stamp:
            return _last(kept, path, failed.problem)
        return kept.reading if kept is not None and kept.stamp == stamp else None

    def _read[T](self, file: BinaryIO, path: str, stamp: _Stamp, limit: int, reader: Reader[T]) -> Reading[T]:
        with self._lock:
            kept = self._kept.get(path)
        try:
            content = file.read(limit + 1)
        except OSError as error:
            return _last(kept, path, f"cannot be read: {error.strerror}.")
        problem: str | None = f"has more than {limit} bytes."
        with uncollected():
            document: Mapping[str, Any] = {}
            if len(content) <= limit:
                document, problem = parse(content, self._parse)
            if problem is not None:
                self._fail(path, _Failed(stamp, problem))
                return _last(kept, path, problem)
            notes = Notes()
            reading: Reading[T] = Reading(reader(document, notes), tuple(entry.below(path) for entry in notes.findings))
        self._keep(path, _Kept(stamp, reading, len(content)))
        return reading

    def _fail(self, path: str, failed: _Failed) -> None:
        with self._lock:
            self._failed[path] = failed
            self._failed.move_to_end(path)
            if len(self._failed) > KEPT_FAILURES:
                self._failed.popitem(last=False)

    def forget(self, path: str) -> None:
        """Everything below a directory that is gone."""
        with self._lock:
            for name in [name for name in self._kept if name.startswith(f"{path}/")]:
                self._kept_bytes -= self._kept.pop(name).size

    def _keep(self, path: str, kept: _Kept) -> None:
        with self._lock:
            before = self._kept.pop(path, None)
            self._kept[path] = kept
            self._kept_bytes += kept.size - (before.size if before else 0)
            while self._kept_bytes > KEPT_BYTES and len(self._kept) > 1:
                _, dropped = self._kept.popitem(last=False)
                self._kept_bytes -= dropped.size


@contextmanager
def uncollected() -> Iterator[None]:
    """Documents have no cycles: to look for some while a large one is read takes a third of the time and finds none."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def parse(content: bytes, read: Parse = json.loads) -> tuple[dict[str, Any], str | None]:
    """The JSON object that ``content`` is, with texts that can be written again, or what is wrong with it."""
    document, problem = ({}, "malformed") if b"\0" in content else parse_object(content, read)
    if problem == "too_large":
        return {}, "has too many members."
    if problem is not None:
        return {}, "is no JSON object, or only the beginning of one."
    if too_deep(document):
        return {}, "is nested too deeply."
    return (document if _is_storable(content) else storable(document)), None


def _is_storable(content: bytes) -> bool:
    """Whether no text of a document can hold what ``storable`` replaces; at first sight."""
    if _UNSTORABLE.search(content):
        return False
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _last[T](kept: _Kept | None, path: str, problem: str, level: Level = "error") -> Reading[T]:
    if kept is None:
        return Reading(None, (Finding(level, path, problem),))
    finding = Finding(level, path, f"{problem[:-1]}; what it last held is shown.")
    return Reading(kept.reading.value, (finding, *kept.reading.findings), is_stale=True)
