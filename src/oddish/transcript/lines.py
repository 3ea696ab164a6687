"""Files that grow by lines. Pure; standard library only."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from oddish.documents import parse_object
from oddish.transcript.adapter import LINE_LIMIT, Source
from oddish.transcript.events import Event, Scribe
from oddish.transcript.usage import Usage

MAX_FILES = 256
"""Files of one agent that are read; further ones are ignored."""
HELD_LIMIT = 4 * LINE_LIMIT
"""Bytes of unfinished lines, of all files together."""

_CONTROLS = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)


class Lines:
    """Cuts the bytes of one file into lines; None stands for a line above ``LINE_LIMIT``."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.held = 0
        self._skipping = False

    def feed(self, data: bytes) -> Iterator[bytes | None]:
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            if self._skipping:
                self._skipping = False
            elif self.held + end - start > LINE_LIMIT:
                self._forget()
                yield None
            else:
                line = b"".join((*self._pieces, data[start:end]))
                self._forget()
                yield line
            start = end + 1
        if self._skipping or start == len(data):
            return
        if self.held + len(data) - start > LINE_LIMIT:
            self.skip()
            yield None
        else:
            self._pieces.append(data[start:])
            self.held += len(data) - start

    def skip(self) -> None:
        """Leave out the line that is not finished yet."""
        self._forget()
        self._skipping = True

    def rest(self) -> bytes:
        """The line that was never ended; nothing of it is kept."""
        line = b"".join(self._pieces)
        self._forget()
        return line

    def _forget(self) -> None:
        self._pieces.clear()
        self.held = 0


class LineAdapter:
    """An adapter whose files grow by lines. By itself it shows them as text."""

    sources: tuple[Source, ...] = ()
    homes: tuple[str, ...] = ()

    def __init__(self, scribe: Scribe) -> None:
        self.scribe = scribe
        self.model: str | None = None
        self._files: dict[str, Lines] = {}
        self._usage = Usage()

    def feed(self, path: str, data: bytes) -> list[Event]:
        lines = self._files.get(path)
        if lines is None:
            if len(self._files) >= MAX_FILES:
                return []
            lines = self._files[path] = Lines()
        events: list[Event] = []
        for line in lines.feed(data):
            events.extend(self._read(path, line))
        if lines.held and sum(file.held for file in self._files.values()) > HELD_LIMIT:
            lines.skip()
            events.extend(self._read(path, None))
        return events

    def restart(self, path: str) -> None:
        self._files.pop(path, None)

    def finish(self) -> list[Event]:
        return [event for path, lines in self._files.items() for event in self._read(path, lines.rest())]

    @property
    def usage(self) -> Usage:
        self._usage = self.counted().not_below(self._usage)
        return self._usage

    def counted(self) -> Usage:
        """The usage as the records have it, before it is kept from falling."""
        return Usage()

    def line(self, path: str, line: bytes) -> Iterable[Event]:
        """The events of a line."""
        return self.scribe.message(plain(line))

    def _read(self, path: str, line: bytes | None) -> Iterable[Event]:
        if line is None:
            return self.scribe.summary(f"A line of more than {LINE_LIMIT >> 20} MiB is left out.")
        return self.line(path, line)


class RecordAdapter(LineAdapter):
    """An adapter whose lines are JSON objects, with other text in between: warnings, or how a program failed."""

    def line(self, path: str, line: bytes) -> Iterable[Event]:
        if line.lstrip()[:1] != b"{":
            return self.text(path, plain(line))
        record, problem = parse_object(_decodable(line))
        # A line that began as an object and is none was cut or damaged: its fragments tell nobody anything.
        return self.record(path, record) if problem is None else ()

    def record(self, path: str, record: dict[str, Any]) -> Iterable[Event]:
        """The events of an object."""
        raise NotImplementedError

    def text(self, path: str, text: str) -> Iterable[Event]:
        """The events of any other line, as ``plain`` shows it."""
        return self.scribe.message(text)


def plain(line: bytes) -> str:
    """A line as a terminal shows it in the end; nothing for what is blank or binary."""
    if b"\0" in line:
        return ""
    text = line.decode(errors="replace").rstrip().rpartition("\r")[2]
    return _CONTROLS.sub("", text).rstrip()


def _decodable(line: bytes) -> bytes:
    try:
        line.decode()
    except UnicodeDecodeError:
        return line.decode(errors="replace").encode()
    return line
