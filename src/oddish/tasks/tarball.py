"""Reading a gzip-compressed tar archive that may be hostile, forward and in bounded memory. Standard library only."""

import gzip
import io
import stat
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Literal, Self, override

from oddish.errors import InvalidTask, TooLarge
from oddish.tasks.extraction import Member, refusal

if TYPE_CHECKING:
    from oddish.tasks.archive import ArchiveLimits

CHUNK_BYTES = 1024 * 1024
MAX_HEADER_BYTES = 64 * 1024
"""Of an extended header or a long name, which are held in memory."""

_EXTENDED = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
_PAIRS: tuple[tuple[bytes, Literal["file", "directory", "symlink", "hardlink"]], ...] = (
    (tarfile.DIRTYPE, "directory"),
    (tarfile.SYMTYPE, "symlink"),
    (tarfile.LNKTYPE, "hardlink"),
    (tarfile.REGTYPE, "file"),
    (tarfile.AREGTYPE, "file"),
    (tarfile.CONTTYPE, "file"),
)
_KINDS = dict(_PAIRS)
_SPECIAL = {tarfile.CHRTYPE: "a device", tarfile.BLKTYPE: "a device", tarfile.FIFOTYPE: "a named pipe"}


class Tarball:
    """One archive, read from ``file`` once."""

    def __init__(self, file: BinaryIO, limits: "ArchiveLimits") -> None:
        self._compressed = _Compressed(file, limits.max_bytes)
        self._content = _Content(self._compressed, limits)

    @property
    def archive_bytes(self) -> int:
        return self._compressed.count

    def members(self) -> Iterator[Member]:
        """The members in order; each one's content is read before the next is asked for.

        Raises ``InvalidTask`` for what is no archive, is damaged or incomplete or holds special files, and
        ``TooLarge``.
        """
        ended = False
        shared_bytes = 0

        class CheckedHeader(tarfile.TarInfo):
            @classmethod
            @override
            def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
                nonlocal ended, shared_bytes
                if len(buf) == tarfile.BLOCKSIZE and not any(buf):
                    ended = True
                try:
                    header = super().frombuf(buf, encoding, errors)
                except tarfile.HeaderError:
                    if ended:
                        raise
                    raise _damaged("a header is malformed or missing") from None
                shared_bytes += header.size if header.type == tarfile.XGLTYPE else 0
                oversized = header.type in _EXTENDED and header.size > MAX_HEADER_BYTES
                if header.size < 0 or oversized or shared_bytes > MAX_HEADER_BYTES:
                    raise refusal(header.name, "has a header of an impossible size")
                if header.type == tarfile.GNUTYPE_SPARSE:
                    raise refusal(header.name, "is stored as a sparse file")
                return header

        with _readable():
            archive = tarfile.open(  # noqa: SIM115 - closing it would read on
                fileobj=self._content, mode="r|", tarinfo=CheckedHeader, encoding="utf-8", errors="surrogateescape"
            )
        while True:
            with _readable():
                header = archive.next()
            if header is None:
                break
            # The class remembers every header, with all that its extensions hold; a stream never goes back to one.
            archive.members.clear()  # type: ignore[attr-defined]
            yield self._member(archive, header)
        if not ended:
            raise _damaged("it ends without an end mark")
        with _readable():
            while self._content.read(CHUNK_BYTES):
                pass

    def _member(self, archive: tarfile.TarFile, header: tarfile.TarInfo) -> Member:
        kind = _KINDS.get(header.type)
        if kind is None:
            raise refusal(header.name, f"is {_SPECIAL.get(header.type, 'of an unknown kind')}, not a file")
        if header.sparse is not None or header.size < 0:
            raise refusal(header.name, "is stored as a sparse file or has an impossible size")
        return Member(
            name=header.name,
            kind=kind,
            size=header.size,
            executable=bool(header.mode & stat.S_IXUSR),
            target=header.linkname,
            content=_content_of(archive, header) if kind == "file" else iter(()),
        )


def _content_of(archive: tarfile.TarFile, header: tarfile.TarInfo) -> Iterator[bytes]:
    with _readable():
        file = archive.extractfile(header)
    if file is None:
        return
    while True:
        with _readable():
            chunk = file.read(CHUNK_BYTES)
        if not chunk:
            return
        yield chunk


@contextmanager
def _readable() -> Iterator[None]:
    """Turn what the readers raise for bad bytes into a refusal; errors of this machine's disk pass."""
    try:
        yield
    except gzip.BadGzipFile as error:
        raise _damaged(f"it is not gzip data: {error}") from None
    except EOFError:
        raise _damaged("it is cut off") from None
    except zlib.error:
        raise _damaged("its compressed data is corrupt") from None
    except (tarfile.TarError, ValueError, OverflowError, RecursionError) as error:
        raise _damaged(f"it cannot be read as a tar archive: {error}") from None


def _damaged(reason: str) -> InvalidTask:
    return InvalidTask(f"The archive is not usable: {reason}.", fix="Send a complete .tar.gz of the task directory.")


class _Compressed(io.RawIOBase):
    """Counts the bytes of the archive itself."""

    def __init__(self, file: BinaryIO, limit: int) -> None:
        self._file = file
        self._limit = limit
        self.count = 0

    @override
    def readable(self) -> bool:
        return True

    @override
    def read(self, size: int = -1) -> bytes:
        data = self._file.read(CHUNK_BYTES if size < 0 else min(size, CHUNK_BYTES))
        self.count += len(data)
        if self.count > self._limit:
            raise TooLarge(
                f"The archive is larger than {self._limit} bytes.", fix="Leave out what the task does not need."
            )
        return data


class _Content(io.RawIOBase):
    """The decompressed archive, bounded in size and in its ratio to the compressed bytes."""

    def __init__(self, compressed: _Compressed, limits: "ArchiveLimits") -> None:
        self._compressed = compressed
        self._limits = limits
        self._gzip = gzip.GzipFile(fileobj=compressed, mode="rb")
        self._count = 0

    @override
    def readable(self) -> bool:
        return True

    @override
    def read(self, size: int = -1) -> bytes:
        data = self._gzip.read(size)
        self._count += len(data)
        if self._count > self._limits.max_extracted_bytes:
            raise TooLarge(
                f"The archive extracts to more than {self._limits.max_extracted_bytes} bytes.",
                fix="Leave out what the task does not need.",
            )
        ratio = self._count / max(self._compressed.count, 1)
        if self._count > self._limits.ratio_applies_from and ratio > self._limits.max_ratio:
            raise TooLarge(
                f"The archive expands to more than {self._limits.max_ratio} times its size.",
                fix="Generate such files when the environment is built.",
            )
        return data
