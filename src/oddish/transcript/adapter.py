"""What every adapter does: the bytes of an agent's log files in, events and usage out. Pure; standard library only."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Protocol

from oddish.transcript.events import Event
from oddish.transcript.usage import Usage

LINE_LIMIT = 4 * 1024 * 1024
"""Bytes of a line; a longer one is left out. Real programs write up to 110 kB."""
DOCUMENT_LIMIT = 16 * 1024 * 1024
"""Bytes of a file that is rewritten as a whole."""


@dataclass(frozen=True, slots=True)
class Source:
    """Files that an adapter reads."""

    glob: str
    """Relative to the folder of the agent's logs. Each part between slashes matches one name, as in ``fnmatch``."""
    rewritten: bool = False
    """Whether the program rewrites the file as a whole, so that all of it is fed after each change; else appended."""
    limit: int = DOCUMENT_LIMIT
    """Bytes of a rewritten file; a larger one is not read."""

    def matches(self, path: str) -> bool:
        """Whether a path, relative to the folder of the agent's logs, is that of one of the files."""
        names, patterns = path.split("/"), self.glob.split("/")
        return len(names) == len(patterns) and all(map(fnmatchcase, names, patterns))


class Adapter(Protocol):
    """The fold over the logs of one execution of one agent. Nothing that is fed raises; the usage never falls."""

    @property
    def sources(self) -> tuple[Source, ...]:
        """In the order in which they should be read when there is something new in several."""
        ...

    @property
    def homes(self) -> tuple[str, ...]:
        """Folders of the sandbox, beside that of the logs, in which files of the sources are while the agent runs."""
        ...

    def feed(self, path: str, data: bytes) -> list[Event]:
        """The events in the next bytes of a file, or in the whole content of a rewritten one.

        ``path`` is relative to the folder of the agent's logs. Bytes may be cut anywhere; an unfinished line waits.
        """
        ...

    def restart(self, path: str) -> None:
        """The file shrank or is another one: what is fed next is its beginning. What was counted stays counted."""
        ...

    def finish(self) -> list[Event]:
        """The events in lines that were never ended. Called when nothing more will be fed."""
        ...

    @property
    def usage(self) -> Usage:
        """What was reported so far."""
        ...

    @property
    def model(self) -> str | None:
        """The model that answered last, as the program names it."""
        ...


def printed(adapter: Adapter) -> Source | None:
    """The file that the agent's own output goes to; None where the adapter does not read it."""
    files = [source for source in adapter.sources if not source.rewritten and "/" not in source.glob]
    return files[-1] if files else None
