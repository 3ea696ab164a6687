"""Reading a zip archive that may be hostile, in bounded memory. Standard library only.

``zipfile`` believes an archive's directory. Here the directory is bounded before it is read, each local header has to
agree with it, and no two members may share bytes.
"""

import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal

from oddish.errors import InvalidTask, TooLarge
from oddish.tasks.archive import ArchiveLimits, ArchiveSummary, extract
from oddish.tasks.extraction import MAX_PATH_BYTES, Member, refusal

CHUNK_BYTES = 1024 * 1024
DIRECTORY_BYTES_PER_ENTRY = 4096
"""Of the central directory, which is held in memory: a name of the greatest length and ample extra fields."""
ENCRYPTED = 0x1 | 0x40
UTF8_NAME = 0x800
METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}

_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCAL = struct.Struct("<4s5H3L2H")
_LOCATOR64_BYTES = 20
_MAX_COMMENT = 0xFFFF
_KINDS: dict[int, Literal["file", "directory", "symlink"]] = {
    0: "file",
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFLNK: "symlink",
}


def unpack_zip(archive: Path, destination: Path, limits: ArchiveLimits) -> ArchiveSummary:
    """Unpack a zip archive as ``oddish.tasks.archive.unpack`` does a tar archive.

    Names that differ only by the case or the Unicode form of their letters are refused as well.
    """
    with archive.open("rb") as file:
        return extract(ZipArchive(file, limits), destination, limits)


class ZipArchive:
    """One archive, read from ``file``, which can seek."""

    def __init__(self, file: BinaryIO, limits: ArchiveLimits) -> None:
        self._file = file
        self._limits = limits
        self.archive_bytes = file.seek(0, 2)
        if self.archive_bytes > limits.max_bytes:
            raise TooLarge(
                f"The archive is larger than {limits.max_bytes} bytes.", fix="Leave out what the task does not need."
            )

    def members(self) -> Iterator[Member]:
        """The members in the directory's order; each one's content is read before the next is asked for.

        Raises ``InvalidTask`` for what is no archive, is damaged, encrypted or ambiguous or holds special files, and
        ``TooLarge``.
        """
        self._check_directory()
        with _readable(), zipfile.ZipFile(self._file) as archive:
            infos = archive.infolist()
            if len(infos) > self._limits.max_entries:
                raise self._too_many()
            self._check_places(infos, archive.start_dir)
            self._check_sizes(infos)
            spelled: dict[str, str] = {}
            for info in infos:
                member = _member(archive, info)
                _check_spelling(member.name, spelled)
                yield member

    def _check_directory(self) -> None:
        """Bound what ``zipfile`` is going to hold in memory, by what the archive's last record says of it."""
        start = max(0, self.archive_bytes - _END.size - _MAX_COMMENT)
        self._file.seek(start)
        tail = self._file.read()
        at = tail.rfind(b"PK\x05\x06")
        if at < 0 or len(tail) - at < _END.size:
            raise _damaged("it is no zip archive, or it is cut off")
        entries, size = _END.unpack_from(tail, at)[4:6]
        if (large := start + at - _END64.size - _LOCATOR64_BYTES) >= 0:
            self._file.seek(large)
            record = self._file.read(_END64.size)
            if record.startswith(b"PK\x06\x06"):
                entries, size = _END64.unpack(record)[7:9]
        if entries > self._limits.max_entries:
            raise self._too_many()
        if size > min(self.archive_bytes, self._limits.max_entries * DIRECTORY_BYTES_PER_ENTRY):
            raise _damaged("its directory has an impossible size")

    def _check_places(self, infos: Sequence[zipfile.ZipInfo], directory_start: int) -> None:
        """Each member has bytes of its own, before the directory, under the name that the directory gives it."""
        free_from, former = 0, ""
        for info in sorted(infos, key=lambda info: info.header_offset):
            if info.header_offset < free_from:
                raise refusal(info.orig_filename, f'shares bytes with "{former}"')
            self._file.seek(info.header_offset)
            header = self._file.read(_LOCAL.size)
            if len(header) < _LOCAL.size or not header.startswith(b"PK\x03\x04"):
                raise refusal(info.orig_filename, "has no header of its own")
            flags, (name_bytes, extra_bytes) = _LOCAL.unpack(header)[2], _LOCAL.unpack(header)[9:]
            if self._file.read(name_bytes) != _raw_name(info) or flags & ENCRYPTED != info.flag_bits & ENCRYPTED:
                raise refusal(info.orig_filename, "is described otherwise in its own header than in the directory")
            free_from = info.header_offset + _LOCAL.size + name_bytes + extra_bytes + info.compress_size
            if free_from > directory_start:
                raise refusal(info.orig_filename, "reaches into the archive's directory")
            former = info.orig_filename

    def _check_sizes(self, infos: Sequence[zipfile.ZipInfo]) -> None:
        """What is stated is a first bound; what comes out is held to it, for ``zipfile`` stops at the stated size."""
        content = sum(info.file_size for info in infos)
        if content > self._limits.max_extracted_bytes:
            raise TooLarge(
                f"The archive extracts to {content} bytes, more than {self._limits.max_extracted_bytes}.",
                fix="Leave out what the task does not need.",
            )
        if content > self._limits.ratio_applies_from and content > self._limits.max_ratio * self.archive_bytes:
            raise TooLarge(
                f"The archive expands to more than {self._limits.max_ratio} times its size.",
                fix="Generate such files when the environment is built.",
            )

    def _too_many(self) -> TooLarge:
        return TooLarge(
            f"The archive has more than {self._limits.max_entries} entries.",
            fix="Leave out what the task does not need.",
        )


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    name = _name(info)
    if info.flag_bits & ENCRYPTED:
        raise refusal(name, "is encrypted")
    if info.compress_type not in METHODS:
        raise refusal(name, f"is compressed by method {info.compress_type}; only 0 (stored) and 8 (deflate) are read")
    mode = info.external_attr >> 16
    kind = "directory" if name.endswith("/") else _KINDS.get(stat.S_IFMT(mode))
    if kind is None:
        raise refusal(name, "is a device, a named pipe or a socket, not a file")
    if kind == "directory" and info.file_size:
        raise refusal(name, "is a directory with content")
    return Member(
        name=name,
        kind=kind,
        size=info.file_size,
        executable=bool(mode & stat.S_IXUSR),
        target=_target(archive, info, name) if kind == "symlink" else "",
        content=_content(archive, info) if kind == "file" else iter(()),
    )


def _raw_name(info: zipfile.ZipInfo) -> bytes:
    return info.orig_filename.encode("utf-8" if info.flag_bits & UTF8_NAME else "cp437")


def _name(info: zipfile.ZipInfo) -> str:
    """The name is UTF-8 whether the archive says so or not, as it is in practice. NUL stays, to be refused."""
    try:
        return _raw_name(info).decode()
    except UnicodeDecodeError:
        raise refusal(info.orig_filename, "has a name that is not UTF-8") from None


def _check_spelling(name: str, spelled: dict[str, str]) -> None:
    """Refuse members, and directories on their way, that one file system would take for two and another for one."""
    at = ""
    for part in name.split("/"):
        if part in ("", "."):
            continue
        at = f"{at}/{part}"
        key = unicodedata.normalize("NFC", unicodedata.normalize("NFC", at).casefold())
        if spelled.setdefault(key, at) != at:
            raise refusal(name, f'differs from "{spelled[key][1:]}" by the case or the form of its letters only')


def _target(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> str:
    if info.file_size > MAX_PATH_BYTES:
        raise refusal(name, "is a symbolic link to a name that is too long")
    with _readable():
        return archive.read(info).decode(errors="surrogateescape")


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    with _readable():
        file = archive.open(info)
    with file:
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
    except EOFError:
        raise _damaged("it is cut off") from None
    except (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error) as error:
        raise _damaged(f"it is not a sound zip archive: {error}") from None
    except (NotImplementedError, RuntimeError, ValueError, OverflowError) as error:
        raise _damaged(f"it cannot be read as a zip archive: {error}") from None


def _damaged(reason: str) -> InvalidTask:
    return InvalidTask(f"The archive is not usable: {reason}.", fix="Send a complete .zip of the task directory.")
