"""One file on its way from a server: resumed where it was interrupted, and in place only when it is whole."""

import errno
import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from typing import Literal

from oddish.errors import OddishError, Unavailable
from oddish.pull.folder import Folder, Partial
from oddish.pull.names import Parts

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})
_SHA256 = re.compile(r"[0-9a-f]{64}")

type Fetch = Callable[["Receiver"], None]


class Stopped(OddishError):
    """The pull was interrupted."""

    code = "interrupted"


class Damaged(OddishError):
    """What arrived is not what the server announced."""

    code = "damaged"
    status = 502


class NoRoom(Unavailable):
    """This machine cannot take any more."""

    code = "no_room"


@dataclass(frozen=True)
class Announced:
    """A file as the server announces it."""

    path: str
    size: int
    sha256: str

    def __post_init__(self) -> None:
        if not (type(self.size) is int and self.size >= 0 and _SHA256.fullmatch(self.sha256)):
            raise ValueError("is announced without a size and a SHA-256")


class Receiver:
    """The sink of one download, which takes no more than was announced."""

    def __init__(self, partial: Partial, limit: int, stop: Event) -> None:
        self._partial = partial
        self._limit = limit
        self._stop = stop

    @property
    def size(self) -> int:
        return self._partial.size

    def restart(self) -> None:
        self._partial.restart()

    def write(self, chunk: bytes) -> None:
        if self._stop.is_set():
            raise Stopped("The pull was interrupted.", fix="Run the command again: it goes on where it was.")
        if self.size + len(chunk) > self._limit:
            raise Damaged(f"The server sends more than the {self._limit} bytes that it announced.")
        self._partial.write(chunk)


def receive(folder: Folder, file: Announced, parts: Parts, fetch: Fetch, stop: Event) -> Literal["saved", "kept"]:
    """Have the file at ``parts``: ``kept`` when it was there with its size and hash.

    Raises ``Damaged``, ``Stopped``, ``NoRoom``, ``InTheWay``, ``OSError`` and what ``fetch`` raises.
    """
    if folder.holds(parts, file.size, file.sha256):
        return "kept"
    name = hashlib.sha256("\0".join((file.sha256, *parts)).encode()).hexdigest()
    with guarded(folder), folder.partial(name) as partial:
        resumed = partial.size > 0
        if partial.size > file.size:
            partial.restart()
        if partial.size < file.size:
            fetch(Receiver(partial, file.size, stop))
        if resumed and not _whole(partial, file):
            partial.restart()
            fetch(Receiver(partial, file.size, stop))
        if not _whole(partial, file):
            partial.forget()
            raise Damaged(f"What arrived are not the {file.size} bytes with the SHA-256 that the server announced.")
        try:
            partial.move(parts)
        except (OddishError, OSError):
            partial.forget()
            raise
    return "saved"


@contextmanager
def guarded(folder: Folder) -> Iterator[None]:
    """Turns a full or read-only disk into ``NoRoom``, after which nothing else can be written either."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise NoRoom(
            f"{folder.path} takes no more: {error.strerror}.",
            fix="Free space there, then run the command again: it goes on where it was.",
        ) from error


def _whole(partial: Partial, file: Announced) -> bool:
    return partial.size == file.size and partial.sha256() == file.sha256
