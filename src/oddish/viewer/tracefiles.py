"""Traces of any length: where messages are is found in one pass and remembered; each is read when it is asked for.

A file is read as it is at one moment: it stays open, and what replaces it is another file.
"""

import contextlib
import os
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

from oddish.documents import MAX_CONTAINERS, open_below, too_deep
from oddish.storable import REPLACEMENT, storable
from oddish.viewer.fields import shown
from oddish.viewer.files import Reading
from oddish.viewer.findings import Finding, Notes
from oddish.viewer.spans import Outline, Read, outline
from oddish.viewer.traces import LENIENT, Message, Trace, read_message, read_trace

HEAD_LIMIT = 1024 * 1024
"""Bytes of everything but the messages."""
MESSAGE_LIMIT = 8 * 1024 * 1024
"""Bytes of one message; a larger one is only in the file."""
KEPT_INDEXES = 32
"""With what was derived from their files."""
_READ_AHEAD = 1024 * 1024
MESSAGES = "messages"


@dataclass(frozen=True, slots=True)
class Recorded:
    """One message of a trace."""

    number: int
    """Its place in the file, from 1."""
    message: Message
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class _Index:
    stamp: tuple[int, int, int]
    head: Trace
    starts: "array[int]"
    ends: "array[int]"
    findings: tuple[Finding, ...]
    derived: dict[object, Any] = field(default_factory=dict)


class OpenTrace:
    """One version of a trace file."""

    def __init__(self, file: BinaryIO, path: str, index: _Index) -> None:
        self._file, self._path, self._index = file, path, index

    @property
    def head(self) -> Trace:
        """Everything but the messages."""
        return self._index.head

    @property
    def total(self) -> int:
        """Of messages."""
        return len(self._index.starts)

    def derived[T](self, make: "Callable[[OpenTrace], T]") -> T:
        """What ``make`` makes of it, once for as long as the file does not change."""
        if make not in self._index.derived:
            self._index.derived[make] = make(self)
        found: T = self._index.derived[make]
        return found

    def size(self, number: int) -> int:
        """Bytes of a message."""
        return self._index.ends[number - 1] - self._index.starts[number - 1]

    def unseen(self) -> list[Finding]:
        """Messages that are only in the file."""
        too_large = (number for number in range(1, self.total + 1) if self.size(number) > MESSAGE_LIMIT)
        return [Finding("error", f"{MESSAGES}[{number - 1}]", self._too_large(number)) for number in too_large]

    def raw(self, number: int) -> bytes:
        """A message as it is in the file, up to ``MESSAGE_LIMIT`` bytes of it."""
        self._file.seek(self._index.starts[number - 1])
        return self._file.read(min(self.size(number), MESSAGE_LIMIT))

    def read(self, number: int) -> Recorded:
        """Whatever is there: what is no message has a finding that says so, and no content."""
        notes = Notes()
        place = f"{MESSAGES}[{number - 1}]"
        document = self._document(number, place, notes)
        message = Message(None, None) if document is None else read_message(place, document, notes)
        return Recorded(number, message, tuple(entry.below(self._path) for entry in notes.findings))

    def _document(self, number: int, place: str, notes: Notes) -> dict[str, Any] | None:
        if self.size(number) > MESSAGE_LIMIT:
            notes.error(place, self._too_large(number))
            return None
        content = self.raw(number)
        document, problem = _decoded(content)
        if problem is not None:
            notes.error(place, problem)
            return None
        if not _is_utf8(content):
            notes.warning(place, f"is not UTF-8: what is no character in it is shown as {REPLACEMENT}.")
        if not isinstance(document, dict):
            notes.warning(place, f"is {shown(document)}, not an object, and is left out.")
            return None
        return document

    def _too_large(self, number: int) -> str:
        return f"has {self.size(number)} bytes, more than {MESSAGE_LIMIT}, and is left out."


class TraceFiles:
    """Those below ``root``, each looked through once for as long as it does not change. Threads can share it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._kept: OrderedDict[str, _Index] = OrderedDict()
        self._lock = Lock()
        self._one_at_a_time = Lock()
        """Looking through a large file takes its size of memory for a moment."""

    @contextlib.contextmanager
    def open(self, path: str, limit: int) -> Iterator[Reading[OpenTrace]]:
        """The trace in a file of at most ``limit`` bytes, while the context lasts."""
        with contextlib.ExitStack() as stack:
            try:
                file = os.fdopen(open_below(self._root, path), "rb", buffering=_READ_AHEAD)
                stack.enter_context(file)
                reading = self._reading(file, path, limit)
            except FileNotFoundError:
                reading = _nothing(path, "is missing.")
            except OSError:
                reading = _nothing(path, "is a link, no regular file, or not readable.")
            yield reading

    def _reading(self, file: BinaryIO, path: str, limit: int) -> Reading[OpenTrace]:
        status = os.fstat(file.fileno())
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        if status.st_size > limit:
            return _nothing(path, f"has {status.st_size} bytes, more than {limit}.")
        index = self._current(path, stamp)
        if index is None:
            with self._one_at_a_time:
                index = self._current(path, stamp) or self._looked_through(file, path, stamp)
        return Reading(OpenTrace(file, path, index), index.findings)

    def _current(self, path: str, stamp: tuple[int, int, int]) -> _Index | None:
        with self._lock:
            index = self._kept.get(path)
        return index if index is not None and index.stamp == stamp else None

    def _looked_through(self, file: BinaryIO, path: str, stamp: tuple[int, int, int]) -> _Index:
        index = _index(partial(_read, file), path, stamp)
        self._keep(path, index)
        return index

    def _keep(self, path: str, index: _Index) -> None:
        with self._lock:
            self._kept[path] = index
            self._kept.move_to_end(path)
            if len(self._kept) > KEPT_INDEXES:
                self._kept.popitem(last=False)


def _read(file: BinaryIO, start: int, end: int) -> bytes:
    return os.pread(file.fileno(), end - start, start)


def _decoded(content: bytes) -> tuple[Any, str | None]:
    """The JSON value that ``content`` is, or what is wrong with it. Control characters in texts are let through."""
    if len(content) > MAX_CONTAINERS and content.count(b"{") + content.count(b"[") > MAX_CONTAINERS:
        return None, "has too many members and is left out."
    try:
        document = LENIENT.decode(content.decode(errors="replace"))
    except (ValueError, RecursionError):
        return None, "is no JSON and is left out."
    if too_deep(document):
        return None, "is nested too deeply and is left out."
    return (storable(document) if b"\\u" in content else document), None


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _index(read: Read, path: str, stamp: tuple[int, int, int]) -> _Index:
    notes = Notes()
    found = outline(read, stamp[1], MESSAGES)
    if found.problem is not None:
        notes.error(f"after {len(found.starts)} messages" if found.starts else "", found.problem)
    head = read_trace(_head(read, found, notes), notes)
    return _Index(stamp, head, found.starts, found.ends, tuple(entry.below(path) for entry in notes.findings))


def _head(read: Read, found: Outline, notes: Notes) -> dict[str, Any]:
    document: dict[str, Any] = {}
    room = HEAD_LIMIT
    for name, (start, end) in found.members.items():
        room -= end - start
        if room < 0:
            notes.warning(shown(name), f"has {end - start} bytes and is left out.")
            continue
        value, problem = _decoded(read(start, end))
        if problem is None:
            document[storable(name)] = value
        else:
            notes.warning(shown(name), problem)
    return document


def _nothing(path: str, problem: str) -> Reading[OpenTrace]:
    return Reading(None, (Finding("error", path, problem),))
