"""``train/metrics.jsonl``, which grows line by line while a run goes on."""

import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from threading import Lock

from oddish.documents import open_below
from oddish.viewer.files import Reading
from oddish.viewer.findings import Finding, Notes
from oddish.viewer.runs import Step, read_steps

BYTES_LIMIT = 256 * 1024 * 1024
MOST_STEPS = 500_000
CHUNK_BYTES = 4 * 1024 * 1024
_REMEMBERED = 64


@dataclass(frozen=True, slots=True)
class Metrics:
    """The steps of a run in the order of the file."""

    steps: tuple[Step, ...] = ()


class MetricsFile:
    """One such file, of which each line is read once. Safe to share between threads."""

    def __init__(self, root: Path, path: str) -> None:
        self._root = root
        self._path = path
        self._lock = Lock()
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
                return Reading(Metrics(tuple(self._steps)), (problem, *self._findings), is_stale=True)
            with file:
                descriptor = file.fileno()
                if not self._goes_on(descriptor):
                    self._begin()
                last = read_steps([self._advance(descriptor)], self._lines + 1, Notes())
            return Reading(Metrics((*self._steps, *last)), self._findings)

    def _begin(self) -> None:
        self._steps: list[Step] = []
        self._notes = Notes()
        self._offset = 0
        self._lines = 0
        self._before = b""
        self._is_cut = False
        self._is_ordered = True

    def _goes_on(self, descriptor: int) -> bool:
        """Whether the file still holds what was read of it."""
        length = len(self._before)
        return os.pread(descriptor, length, self._offset - length) == self._before

    def _advance(self, descriptor: int) -> bytes:
        """Read the lines that are new; the beginning of one that has not been ended yet."""
        while not self._is_cut and (chunk := os.pread(descriptor, CHUNK_BYTES, self._offset)):
            whole, newline, rest = chunk.rpartition(b"\n")
            if not newline and len(chunk) < CHUNK_BYTES:
                return rest
            self._take(whole.split(b"\n") if newline else [])
            self._offset += len(whole) + len(newline)
            self._before = chunk[: len(whole) + len(newline)][-_REMEMBERED:]
            if not newline or self._offset > BYTES_LIMIT or len(self._steps) > MOST_STEPS:
                self._is_cut = True
                self._notes.error(f"line {self._lines + 1}", "is beyond what is read, like all after it.")
        return b""

    def _take(self, lines: list[bytes]) -> None:
        new = read_steps(lines, self._lines + 1, self._notes)
        numbers = [step.step for step in (*self._steps[-1:], *new) if step.step is not None]
        if self._is_ordered and (back := next(((a, b) for a, b in pairwise(numbers) if b <= a), None)) is not None:
            self._is_ordered = False
            self._notes.warning("", f"has step {back[1]:g} after step {back[0]:g}.")
        self._steps += new
        self._lines += len(lines)

    @property
    def _findings(self) -> tuple[Finding, ...]:
        return tuple(entry.below(self._path) for entry in self._notes.findings)
