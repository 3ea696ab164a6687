"""A folder that is filled from elsewhere: no name and no link in it leads out of it, and files appear whole.

Every directory on the way to a file is entered by a descriptor of the one above, without following links.
"""

import errno
import fcntl
import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from oddish.errors import Conflict, InvalidInput
from oddish.pull.names import Parts
from oddish.removal import delete

PARTIAL = ".partial"
"""Where files are until they are complete."""
CHUNK_BYTES = 1024 * 1024
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class InTheWay(InvalidInput):
    """Something in the folder is where a directory or file of another kind belongs."""

    code = "in_the_way"


class Folder:
    """The folder at ``path``, made when it is not there; one process at a time. Safe to share between threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._root = -1
        self.folds_case = False
        """Whether names that differ in case only are the same name here."""

    def __enter__(self) -> Self:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._root = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise InvalidInput(
                f"{self.path} cannot be used as a directory: {error.strerror}.", fix="Name another directory."
            ) from error
        try:
            fcntl.flock(self._root, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._root)
            raise Conflict(
                f"Another command is writing to {self.path}.", fix="Wait until it has ended, or name another directory."
            ) from None
        except OSError:
            pass  # a file system without locks
        self.folds_case = self._probe_case()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            os.rmdir(PARTIAL, dir_fd=self._root)
        os.close(self._root)

    def holds(self, parts: Parts, size: int, sha256: str) -> bool:
        """Whether the file is there with that content."""
        return self.fingerprint(parts, size) == sha256

    def fingerprint(self, parts: Parts, size: int) -> str | None:
        """The SHA-256 of the regular file, in hex; None unless it is there and has that many bytes."""
        try:
            with self._file(parts) as file:
                if os.fstat(file).st_size != size:
                    return None
                digest = hashlib.sha256()
                while chunk := os.read(file, CHUNK_BYTES):
                    digest.update(chunk)
                return digest.hexdigest()
        except (OSError, InTheWay):
            return None

    def read(self, parts: Parts, limit: int) -> bytes | None:
        """The content of a regular file of at most ``limit`` bytes; None if there is none."""
        try:
            with self._file(parts) as file:
                size = os.fstat(file).st_size
                data = bytearray()
                while size <= limit and (chunk := os.read(file, CHUNK_BYTES)):
                    data += chunk
                return bytes(data) if size <= limit else None
        except (OSError, InTheWay):
            return None

    def write(self, parts: Parts, content: bytes) -> bool:
        """Make the file have that content. False when it had it already. Raises ``InTheWay`` and ``OSError``."""
        if self.read(parts, len(content)) == content:
            return False
        name = hashlib.sha256("\0".join(parts).encode()).hexdigest()
        with self.partial(name) as partial:
            partial.restart()
            partial.write(content)
            partial.move(parts)
        return True

    def write_json(self, parts: Parts, document: Mapping[str, Any] | Sequence[Any]) -> bool:
        return self.write(parts, json.dumps(document, indent=2).encode() + b"\n")

    @contextmanager
    def partial(self, name: str) -> "Iterator[Partial]":
        """An incomplete file, with what it has from before. What there is of it stays unless it is moved."""
        with self._entered((PARTIAL,), make=True) as directory:
            file = os.open(name, os.O_RDWR | os.O_CREAT | _FILE, 0o666, dir_fd=directory)
            try:
                if not stat.S_ISREG(os.fstat(file).st_mode):
                    raise _in_the_way((PARTIAL, name), "no regular file")
                partial = Partial(self, directory, name, file)
                try:
                    yield partial
                finally:
                    if partial.size == 0:
                        partial.forget()
            finally:
                os.close(file)

    def make(self, parts: Parts) -> None:
        """Make the directory, and those above it."""
        with self._entered(parts, make=True):
            pass

    def names(self, parts: Parts) -> Sequence[str]:
        """What is in the directory, sorted; nothing when it is not there."""
        try:
            with self._entered(parts, make=False) as directory:
                return sorted(os.listdir(directory))  # noqa: PTH208 - a descriptor
        except (OSError, InTheWay):
            return []

    def remove(self, parts: Parts) -> None:
        """Remove the file, and the directories above it that are empty then."""
        try:
            with self._entered(parts[:-1], make=False) as directory:
                os.unlink(parts[-1], dir_fd=directory)
            for depth in range(len(parts) - 1, 0, -1):
                with self._entered(parts[: depth - 1], make=False) as directory:
                    os.rmdir(parts[depth - 1], dir_fd=directory)
        except (OSError, InTheWay):
            return

    def forget_partial(self) -> None:
        """Delete what is incomplete: nothing will go on with it."""
        delete(str(self.path / PARTIAL))

    def replace(self, source: Parts, target: Parts) -> None:
        """Rename within the folder; a file that is at ``target`` is replaced."""
        with self._entered(source[:-1], make=False) as old, self._entered(target[:-1], make=True) as new:
            try:
                os.rename(source[-1], target[-1], src_dir_fd=old, dst_dir_fd=new)
            except IsADirectoryError:
                raise _in_the_way(target, "a directory") from None

    @contextmanager
    def _file(self, parts: Parts) -> Iterator[int]:
        with self._entered(parts[:-1], make=False) as directory:
            file = os.open(parts[-1], os.O_RDONLY | _FILE, dir_fd=directory)
            try:
                if not stat.S_ISREG(os.fstat(file).st_mode):
                    raise OSError(errno.EINVAL, "no regular file")
                yield file
            finally:
                os.close(file)

    @contextmanager
    def _entered(self, parts: Parts, *, make: bool) -> Iterator[int]:
        """A descriptor of the directory."""
        directory = os.dup(self._root)
        try:
            for depth, name in enumerate(parts):
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(name, 0o777, dir_fd=directory)
                try:
                    inner = os.open(name, _DIRECTORY, dir_fd=directory)
                except OSError as error:
                    if error.errno in (errno.ELOOP, errno.ENOTDIR):
                        raise _in_the_way(parts[: depth + 1], "no directory") from None
                    raise
                os.close(directory)
                directory = inner
            yield directory
        finally:
            os.close(directory)

    def _probe_case(self) -> bool:
        lower, upper = f"{PARTIAL}-case", f"{PARTIAL}-CASE"
        try:
            os.close(os.open(lower, os.O_CREAT | os.O_WRONLY | _FILE, 0o600, dir_fd=self._root))
            try:
                os.stat(upper, dir_fd=self._root, follow_symlinks=False)
            except FileNotFoundError:
                return False
            finally:
                os.unlink(lower, dir_fd=self._root)
        except OSError as error:
            raise InvalidInput(
                f"{self.path} cannot be written to: {error.strerror}.", fix="Name another directory."
            ) from error
        return True


class Partial:
    """A file that is being received: the sink of a download."""

    def __init__(self, folder: Folder, directory: int, name: str, file: int) -> None:
        self._folder = folder
        self._directory = directory
        self._name = name
        self._file = file
        self._size = os.lseek(file, 0, os.SEEK_END)

    @property
    def size(self) -> int:
        return self._size

    def restart(self) -> None:
        os.ftruncate(self._file, 0)
        os.lseek(self._file, 0, os.SEEK_SET)
        self._size = 0

    def write(self, chunk: bytes) -> None:
        view = memoryview(chunk)
        while view:
            written = os.write(self._file, view)
            view = view[written:]
            self._size += written

    def sha256(self) -> str:
        digest = hashlib.sha256()
        os.lseek(self._file, 0, os.SEEK_SET)
        while chunk := os.read(self._file, CHUNK_BYTES):
            digest.update(chunk)
        return digest.hexdigest()

    def move(self, parts: Parts) -> None:
        """To its place, in one step. Raises ``InTheWay``."""
        self._folder.replace((PARTIAL, self._name), parts)

    def forget(self) -> None:
        with suppress(OSError):
            os.unlink(self._name, dir_fd=self._directory)

    @property
    def path(self) -> Path:
        return self._folder.path / PARTIAL / self._name


def _in_the_way(parts: Parts, what: str) -> InTheWay:
    return InTheWay(
        f"{'/'.join(parts)} in the output directory is {what}.", fix="Move it away, or name another directory."
    )
