"""Folders of logs, searched for files while an agent that nobody trusts changes them; no symbolic link is followed."""

import contextlib
import fnmatch
import os
import stat
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

MAX_ENTRIES = 2000
"""Names that one search goes through."""
MOST_FOLDERS = 64
"""Of a search that are looked at again to tell whether another one would find more."""
CLOCK_NS = 1_000_000_000
"""What has changed less than this ago may change again without showing it: clocks of file systems are coarse."""
_MISSING = 0
_UNSETTLED = -1

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Place(NamedTuple):
    """A folder of logs: ``below`` names it from ``base``, which only the worker's side can replace."""

    base: Path
    below: str


class Search:
    """One search for files, in several places, and what tells whether another one could find others."""

    def __init__(self) -> None:
        self._entries = iter(range(MAX_ENTRIES))
        self._changed: dict[str, int] = {}
        """When the folders had changed last, by their paths."""

    def matching(self, place: Place, patterns: Sequence[str]) -> Iterator[tuple[str, str, os.stat_result]]:
        """Pattern and path, in that place, of the regular files whose paths match it; it goes part by part."""
        above = f"{place.base}/{place.below}"
        try:
            with _opened(place) as folder:
                for pattern in patterns:
                    for path, status in self._below(folder, above, pattern.split("/"), ""):
                        yield pattern, path, status
        except OSError:
            self._changed.setdefault(above, _MISSING)

    def holds(self) -> bool:
        """Whether another search would find the same names, as far as the file system says."""
        return len(self._changed) <= MOST_FOLDERS and all(
            _changed_ns(folder) == changed for folder, changed in self._changed.items()
        )

    def _below(self, folder: int, above: str, parts: Sequence[str], path: str) -> Iterator[tuple[str, os.stat_result]]:
        changed = os.fstat(folder).st_mtime_ns
        self._changed.setdefault(above, changed if time.time_ns() - changed > CLOCK_NS else _UNSETTLED)
        part, *rest = parts
        for name in self._names(folder, part):
            with contextlib.suppress(OSError):
                if rest:
                    inner = os.open(name, _FOLDER, dir_fd=folder)
                    try:
                        yield from self._below(inner, f"{above}/{name}", rest, f"{path}{name}/")
                    finally:
                        os.close(inner)
                else:
                    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode):
                        yield path + name, status

    def _names(self, folder: int, pattern: str) -> list[str]:
        if not any(sign in pattern for sign in "*?["):
            return [pattern]
        with os.scandir(folder) as found:
            return sorted(
                entry.name
                for entry, _ in zip(found, self._entries, strict=False)
                if fnmatch.fnmatch(entry.name, pattern)
            )


def _changed_ns(folder: str) -> int:
    try:
        return os.lstat(folder).st_mtime_ns
    except OSError:
        return _MISSING


@contextlib.contextmanager
def _opened(place: Place) -> Iterator[int]:
    at = os.open(place.base, _FOLDER)
    try:
        for part in place.below.split("/"):
            inner = os.open(part, _FOLDER, dir_fd=at)
            os.close(at)
            at = inner
        yield at
    finally:
        os.close(at)
