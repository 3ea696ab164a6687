"""``train/metrics.jsonl``, which grows line by line while a run goes on."""

import math
import os
from dataclasses import dataclass, field
from operator import lt
from pathlib import Path
from threading import Lock

from oddish.documents import open_below
from oddish.viewer.files import Reading, uncollected
from oddish.viewer.findings import Finding, Notes
from oddish.viewer.parsing import STANDARD, Parser
from oddish.viewer.steps import MOST_NAMES, MOST_OTHERS, Steps

BYTES_LIMIT = 256 * 1024 * 1024
MOST_STEPS = 500_000
CHUNK_BYTES = 4 * 1024 * 1024
_REMEMBERED = 64


@dataclass(frozen=True, slots=True)
class Metrics:
    """The steps of a run in the order of the file."""

    steps: Steps = field(default_factory=Steps)


class MetricsFile:
    """One such file, of which each line is read once. Safe to share between threads."""

    def __init__(self, root: Path, path: str, parser: Parser = STANDARD) -> None:
        self._root = root
        self._parser = parser
        self._path = path
        self._lock = Lock()
        self._last: os.stat_result | None = None
        self._begin()

    def read(self) -> Reading[Metrics]:
        """The steps so far; none, and no flaw, where there is no such file. One that was written anew is read anew.

        A last line that has not been ended counts once it is whole.
        """
        with self._lock:
            try:
                file = os.fdopen(open_below(self._root, self._path), "rb")
            except FileNotFoundError:
                self._begin()
                return Reading(Metrics())
            except OSError:
                problem = Finding("error", self._path, "is a link, no regular file, or not readable.")
                return Reading(self._shown(b""), (problem, *self._findings), is_stale=True)
            with file:
                descriptor = file.fileno()
                status = os.fstat(descriptor)
                if not self._goes_on(descriptor, status):
                    self._begin()
                self._last = status
                rest = self._advance(descriptor)
            return Reading(self._shown(rest), self._findings)

    def _begin(self) -> None:
        self._steps = Steps()
        self._reading: tuple[int, bytes, Metrics] | None = None
        self._notes = Notes()
        self._offset = 0
        self._lines = 0
        self._before = b""
        self._is_cut = False
        self._last_step = -math.inf
        self._setbacks = 0
        self._first_setback = ""

    def _goes_on(self, descriptor: int, now: os.stat_result) -> bool:
        """Whether the file still holds what was read of it; one that changed and did not grow may not."""
        last = self._last
        if last is not None and (
            now.st_ino != last.st_ino or (now.st_mtime_ns != last.st_mtime_ns and now.st_size <= last.st_size)
        ):
            return False
        length = len(self._before)
        return os.pread(descriptor, length, self._offset - length) == self._before

    def _advance(self, descriptor: int) -> bytes:
        """Read the lines that are new; the beginning of one that has not been ended yet."""
        while not self._is_cut and (chunk := os.pread(descriptor, CHUNK_BYTES, self._offset)):
            lines = chunk[: chunk.rfind(b"\n") + 1]
            if not lines and len(chunk) < CHUNK_BYTES:
                return chunk
            self._take(lines)
            self._offset += len(lines)
            self._before = lines[-_REMEMBERED:]
            if not lines or self._offset > BYTES_LIMIT or len(self._steps) > MOST_STEPS:
                self._is_cut = True
                self._notes.error(f"line {self._lines + 1}", "is beyond what is read, like all after it.")
        return b""

    def _take(self, lines: bytes) -> None:
        known = len(self._steps)
        with uncollected():
            self._lines += self._steps.read(lines, self._lines + 1, self._notes, self._parser)
        steps = self._steps.column("step", known).tolist()
        if all(map(lt, [self._last_step, *steps], steps)):
            self._last_step = steps[-1] if steps else self._last_step
            return
        for step in steps:
            if step <= self._last_step:
                self._first_setback = self._first_setback or f"has step {step:g} after step {self._last_step:g}"
                self._setbacks += 1
            if not math.isnan(step):
                self._last_step = step

    def _shown(self, rest: bytes) -> Metrics:
        """The steps so far, and the one in ``rest`` if it is whole; the same object until there are others."""
        if self._reading is None or self._reading[:2] != (len(self._steps), rest):
            last = Steps()
            last.read(rest, self._lines + 1, Notes(), self._parser)
            self._reading = (len(self._steps), rest, Metrics(self._steps.followed_by(last)))
        return self._reading[2]

    @property
    def _findings(self) -> tuple[Finding, ...]:
        notes = list(self._notes.findings)
        if self._setbacks:
            more = f", and {self._setbacks - 1} more of that kind" if self._setbacks > 1 else ""
            notes.append(Finding("warning", "", f"{self._first_setback}{more}.", "Write each step once, in order."))
        if count := self._steps.without_column:
            said = f"has {count}{' or more' if count == MOST_NAMES else ''} metrics that are not shown."
            notes.append(Finding("warning", "", said, f"{MOST_OTHERS} are beside those of the contract: write fewer."))
        return tuple(entry.below(self._path) for entry in notes)
