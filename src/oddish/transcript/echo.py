"""Programs that print the words of the model as text, and write them to a session file as well."""

from collections.abc import Iterable
from typing import Any

from oddish.transcript.events import Event, Scribe
from oddish.transcript.lines import RecordAdapter
from oddish.transcript.seen import Seen
from oddish.transcript.usage import Tally, Usage


class EchoAdapter(RecordAdapter):
    """Shows what is both printed and recorded once, whichever is read first."""

    def __init__(self, scribe: Scribe) -> None:
        super().__init__(scribe)
        self._printed = Seen()
        self._recorded = Seen()
        self._seen = Seen()
        """What tells records of the session file apart that were read."""
        self._answers = Tally()

    def counted(self) -> Usage:
        return self._answers.usage()

    def words(self, text: str) -> list[Event]:
        """The message of a session file, unless all its lines were printed before."""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        for line in lines:
            self._recorded.add(line)
        return [] if all(line in self._printed for line in lines) else self.scribe.message(text)

    def text(self, path: str, text: str) -> Iterable[Event]:
        line = text.strip()
        if line in self._recorded:
            return ()
        self._printed.add(line)
        return self.scribe.message(text)

    def record(self, path: str, record: dict[str, Any]) -> Iterable[Event]:
        # With --output-format=stream-json the printed lines are records, and the session file has the same.
        return () if path.endswith(".txt") else self.session(record)

    def session(self, record: dict[str, Any]) -> Iterable[Event]:
        """The events of a record of a session file."""
        raise NotImplementedError
