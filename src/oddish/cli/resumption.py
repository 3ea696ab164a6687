"""The experiment of a submission that did not come to its end, kept for the same command to go on with.

A command that names no experiment draws a name. While it sends, the name is in a file of this user, called after what
the command asks for; the file goes when everything was sent. The one who writes it holds a lock on it, so that a second
command of the same words beside it is a submission of its own.
"""

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from oddish.home import home, private_directory

KEPT_SECONDS = 7 * 24 * 3600
LONGEST_NAME = 1000
_DIRECTORY = "submissions"


class Resumption:
    """Where a submission goes, and whether an earlier one of the same words was interrupted there."""

    def __init__(self, experiment: str, *, resumed: bool = False, path: Path | None = None) -> None:
        self.experiment = experiment
        self.resumed = resumed
        self._path = path

    @property
    def kept(self) -> bool:
        """The same command goes on here, should this one be interrupted."""
        return self._path is not None

    def forget(self) -> None:
        """Everything was sent, or nothing: the same command starts another one."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            self._path = None


@contextmanager
def resumption(asked_for: object, new_name: Callable[[], str]) -> Iterator[Resumption]:
    """``asked_for`` is all that tells one submission from another, as JSON. Where no file can be kept, none is."""
    words = json.dumps(asked_for, sort_keys=True, default=str)
    try:
        directory = private_directory(home() / _DIRECTORY)
        _remove_old(directory)
        path = directory / hashlib.sha256(words.encode()).hexdigest()[:40]
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        yield Resumption(new_name())
        return
    try:
        yield _opened(path, descriptor, new_name)
    finally:
        os.close(descriptor)


def _opened(path: Path, descriptor: int, new_name: Callable[[], str]) -> Resumption:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(path.stat(), os.fstat(descriptor)):
            return Resumption(new_name())
        found = os.pread(descriptor, LONGEST_NAME, 0).decode(errors="replace").strip()
        if found:
            return Resumption(found, resumed=True, path=path)
        name = new_name()
        os.pwrite(descriptor, name.encode(), 0)
    except OSError:
        return Resumption(new_name())
    return Resumption(name, path=path)


def _remove_old(directory: Path) -> None:
    for path in directory.iterdir():
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > KEPT_SECONDS:
                path.unlink()
