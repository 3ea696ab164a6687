"""Fetched tasks on this machine: ``<directory>/<hash of where from>/<name>``, each complete when it exists."""

import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from oddish.home import private_directory
from oddish.removal import delete

KEPT_SECONDS = 14 * 24 * 3600
"""After the last use."""
ABANDONED_SECONDS = 24 * 3600
_PARTIAL = ".partial-"


class DatasetCache:
    """Shared by the commands of one user. What nobody has used for two weeks is deleted."""

    def __init__(self, directory: Path) -> None:
        self._directory = private_directory(directory)
        self._remove_old()

    def find(self, identity: str) -> Path | None:
        """The task's directory, used now, when it was fetched before."""
        entry = self._entry(identity)
        with suppress(FileNotFoundError):
            os.utime(entry)
            return next(entry.iterdir(), None)
        return None

    def add(self, identity: str, fetched: Path, name: str) -> Path:
        """Move the task's directory in; one that is there already is kept instead."""
        entry = self._entry(identity)
        partial = Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=self._directory))
        fetched.rename(partial / name)
        try:
            partial.rename(entry)
        except OSError:
            delete(str(partial))
            if (there := self.find(identity)) is None:
                raise
            return there
        return entry / name

    @contextmanager
    def staging(self) -> Iterator[Path]:
        """A directory on the same filesystem, for what is not complete yet."""
        staging = Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=self._directory))
        try:
            yield staging
        finally:
            delete(str(staging))

    def _entry(self, identity: str) -> Path:
        return self._directory / hashlib.sha256(identity.encode()).hexdigest()[:40]

    def _remove_old(self) -> None:
        for entry in self._directory.iterdir():
            with suppress(OSError):
                kept = ABANDONED_SECONDS if entry.name.startswith(_PARTIAL) else KEPT_SECONDS
                if time.time() - entry.stat().st_mtime > kept:
                    delete(str(entry))
