"""The transcript of a trial from the files that it left, as it was shown while it ran."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oddish.client.types import TrialFile, TrialFiles
from oddish.transcript import Adapter, Event, Source, adapter

if TYPE_CHECKING:
    from oddish.client.evidence import Evidence

_LOG = re.compile(r"(?P<step>steps/[^/]+/)?agent/(?P<path>.+)", re.DOTALL)


def read_transcript(
    evidence: "Evidence", trial_id: str, agent: str, listing: TrialFiles, tell: Callable[[Event], None]
) -> None:
    """Tell the events in the files of ``listing`` that the adapter of ``agent`` reads, of steps one after another."""
    for files in _by_step(listing["files"]).values():
        reader = adapter(agent)
        for path, source in _in_order(files, reader.sources):
            if source.rewritten and files[path]["size"] > source.limit:
                continue
            log = _Log(reader, path, source.rewritten, tell)
            evidence.download(trial_id, files[path], log, attempt=listing.get("attempt"))
            log.end()
        for event in reader.finish():
            tell(event)


@dataclass
class _Log:
    """A log on its way into its adapter. One that grows is read as it comes, one that is rewritten as a whole."""

    reader: Adapter
    path: str
    rewritten: bool
    tell: Callable[[Event], None]
    size: int = 0
    known: int = 0
    """Bytes that were read before the download had to begin again."""
    content: bytes = b""

    def write(self, chunk: bytes) -> None:
        new = chunk[max(0, self.known - self.size) :]
        self.size += len(chunk)
        self.known = max(self.known, self.size)
        if self.rewritten:
            self.content += new
        else:
            self._feed(new)

    def restart(self) -> None:
        self.size = 0

    def end(self) -> None:
        if self.rewritten:
            self._feed(self.content)

    def _feed(self, data: bytes) -> None:
        for event in self.reader.feed(self.path, data):
            self.tell(event)


def _by_step(files: Sequence[TrialFile]) -> Mapping[str, Mapping[str, TrialFile]]:
    """The agent's files by their paths in its folder, for each step of the task, or for the only one."""
    found: dict[str, dict[str, TrialFile]] = {}
    for file in files:
        if (log := _LOG.fullmatch(file["path"])) is not None:
            found.setdefault(log["step"] or "", {})[log["path"]] = file
    return found


def _in_order(paths: Mapping[str, object], sources: Sequence[Source]) -> Iterator[tuple[str, Source]]:
    """Each path that a source names, once, in the order of the sources."""
    taken = set[str]()
    for source in sources:
        for path in sorted(paths.keys() - taken):
            if source.matches(path):
                taken.add(path)
                yield path, source
