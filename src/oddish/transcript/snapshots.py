"""Files that are rewritten as a whole and hold a growing list. Pure; standard library only."""

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from oddish.documents import parse_object
from oddish.transcript.adapter import DOCUMENT_LIMIT, Source
from oddish.transcript.events import Event, Scribe
from oddish.transcript.lines import MAX_FILES
from oddish.transcript.usage import Figures, Tally, Usage


@dataclass(slots=True)
class _File:
    run: int = 0
    """How often the list began anew."""
    read: int = 0
    """Steps that became events."""
    last: int = 0
    """The hash of the last of them."""


class SnapshotAdapter:
    """An adapter whose files are JSON objects with a list of steps. A list that does not continue is another run."""

    sources: tuple[Source, ...] = ()
    homes: tuple[str, ...] = ()

    def __init__(self, scribe: Scribe) -> None:
        self.scribe = scribe
        self.model: str | None = None
        self._files: dict[str, _File] = {}
        self._steps = Tally()
        self._usage = Usage()

    def feed(self, path: str, data: bytes) -> list[Event]:
        if len(data) > DOCUMENT_LIMIT or (path not in self._files and len(self._files) >= MAX_FILES):
            return []
        document, problem = parse_object(data)
        if problem is not None:
            return []  # It is just being written.
        steps = [step for step in self.steps(document) if isinstance(step, dict)]
        file = self._files.setdefault(path, _File())
        if file.read and (len(steps) < file.read or hash(self.identity(steps[file.read - 1])) != file.last):
            file.run, file.read = file.run + 1, 0
        for model, figures in self.figures(path, document, steps):
            self._steps.put((path, file.run, model), model, figures)
        new = steps[file.read :]
        if new:
            file.read, file.last = len(steps), hash(self.identity(new[-1]))
        return [event for step in new for event in self.step(path, step)]

    def restart(self, path: str) -> None:
        """Nothing to do: each content is compared with the one before."""

    def finish(self) -> list[Event]:
        return []

    @property
    def usage(self) -> Usage:
        self._usage = self.counted().not_below(self._usage)
        return self._usage

    def counted(self) -> Usage:
        """The usage as the documents have it, before it is kept from falling."""
        return self._steps.usage()

    def steps(self, document: dict[str, Any]) -> Iterable[object]:
        """The growing list."""
        raise NotImplementedError

    def identity(self, step: dict[str, Any]) -> Hashable:
        """What stays the same of a step when the list grows."""
        raise NotImplementedError

    def figures(
        self, path: str, document: dict[str, Any], steps: list[dict[str, Any]]
    ) -> Iterator[tuple[str, Figures]]:
        """The sums over the document, for each model."""
        raise NotImplementedError

    def step(self, path: str, step: dict[str, Any]) -> Iterable[Event]:
        """The events of a step."""
        raise NotImplementedError
