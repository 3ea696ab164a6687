"""The same fold over the log files that an agent left: what an attempt used in the end, and its whole transcript."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from oddish.documents import read_bytes
from oddish.regular import open_below
from oddish.transcript.adapter import Adapter, Source
from oddish.transcript.events import Event
from oddish.transcript.lines import MAX_FILES
from oddish.transcript.registry import adapter
from oddish.transcript.usage import Usage

CHUNK = 1024 * 1024
MOST_CHUNKS = 1024
"""Of one file; a sparse one would take for ever."""


def settled(agent: str | None, folders: Iterable[Path]) -> Usage | None:
    """What an agent used, from the folders of its logs: one, or one for each step of the trial, in their order.

    None where the logs report nothing. Files are read as they are found, and nothing in them raises.
    """
    reader = adapter(agent)
    for _ in _read(reader, folders):
        pass
    usage = reader.usage
    return usage if usage.known else None


def transcript(
    agent: str | None, folders: Iterable[Path], redact: Callable[[str], str] | None = None
) -> Iterator[Event]:
    """The events of an agent that has ended, from the folders of its logs as for ``settled``."""
    return _read(adapter(agent, redact), folders)


def _read(reader: Adapter, folders: Iterable[Path]) -> Iterator[Event]:
    met: set[str] = set()
    for folder in folders:
        for source in reader.sources:
            for path in matching(folder, source):
                if path in met:
                    reader.restart(path)
                met.add(path)
                for data in _contents(folder, path, source):
                    yield from reader.feed(path, data)
    yield from reader.finish()


def matching(folder: Path, source: Source) -> list[str]:
    """The paths of a source's files below ``folder``, in order; at most ``MAX_FILES``. Links are not followed."""
    found = [""]
    *folders, name = source.glob.split("/")
    for pattern in folders:
        found = [path for base in found for path in _entries(folder, base, pattern, directories=True)][:MAX_FILES]
    return [path for base in found for path in _entries(folder, base, name, directories=False)][:MAX_FILES]


def _entries(folder: Path, base: str, pattern: str, *, directories: bool) -> list[str]:
    with suppress(OSError), os.scandir(folder / base) as entries:
        return sorted(
            f"{base}/{entry.name}".lstrip("/")
            for entry in entries
            if fnmatchcase(entry.name, pattern)
            and (entry.is_dir(follow_symlinks=False) if directories else entry.is_file(follow_symlinks=False))
        )
    return []


def _contents(folder: Path, path: str, source: Source) -> Iterator[bytes]:
    if source.rewritten:
        content, problem = read_bytes(folder, path, source.limit)
        if problem is None:
            yield content
        return
    with suppress(OSError), os.fdopen(open_below(folder, path), "rb") as file:
        for _ in range(MOST_CHUNKS):
            if not (data := file.read(CHUNK)):
                break
            yield data
