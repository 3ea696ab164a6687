"""Tar streams across the border of a sandbox. What comes out was written by an adversary; what goes in was not.

``extract`` does not use ``tarfile``'s own extraction: it opens every component relative to its parent, never follows a
link, and writes neither devices nor foreign owners nor set-uid bits.
"""

import contextlib
import io
import os
import stat
import tarfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

from oddish.errors import InvalidInput, TooLarge

_CHUNK = 1024 * 1024
_MAX_HEADER_BYTES = 1024 * 1024
"""Of one entry with its extensions, which are held in memory."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one download may bring to this machine."""

    total_bytes: int = 4 * 1024**3
    entries: int = 200_000


@dataclass(slots=True)
class Extracted:
    """Names of what was left out: special files, and links that lead out of the target."""

    entries: int = 0
    left_out: list[str] = field(default_factory=list)


class _Metered(io.RawIOBase):
    """Counts what is read, so that a stream without end has one, and so has a header."""

    def __init__(self, source: BinaryIO, bounds: Bounds) -> None:
        self._source = source
        self._count = 0
        self._bounds = bounds
        self._header_end = bounds.total_bytes

    def read(self, size: int = -1) -> bytes:
        data = self._source.read(size)
        self._count += len(data)
        if self._count > self._bounds.total_bytes:
            raise TooLarge(f"What the sandbox sends is larger than {self._bounds.total_bytes} bytes.")
        if self._count > self._header_end:
            raise TooLarge(f"The sandbox sent an entry whose header is larger than {_MAX_HEADER_BYTES} bytes.")
        return data

    @contextlib.contextmanager
    def header(self) -> Iterator[None]:
        """While an entry's header is read, and nothing else."""
        self._header_end = self._count + _MAX_HEADER_BYTES
        yield
        self._header_end = self._bounds.total_bytes


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing to put into a sandbox under ``name``: a file, link or directory of this machine, or a text."""

    name: str
    source: Path | None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Attributes:
    """What all that is put in shall have; ``mode`` None leaves each its own permissions."""

    owner: tuple[int, int] = (0, 0)
    mode: int | None = None


def pack(source: Path, sink: BinaryIO) -> None:
    """Write the content of the directory ``source``, owned by root, symbolic links as links."""

    def entries() -> Iterator[Entry]:
        for folder, directories, files in source.walk():
            for name in sorted((*directories, *files)):
                yield Entry(str((folder / name).relative_to(source)), folder / name)

    pack_entries(entries(), sink, Attributes())


def pack_entries(entries: Iterable[Entry], sink: BinaryIO, attributes: Attributes) -> None:
    """Write ``entries`` as a tar stream. Sockets are left out."""
    with tarfile.open(fileobj=sink, mode="w|", format=tarfile.GNU_FORMAT) as archive:
        for entry in entries:
            if entry.source and stat.S_ISSOCK(entry.source.lstat().st_mode):
                continue
            member = archive.gettarinfo(entry.source, entry.name) if entry.source else _text_member(entry)
            member.uid, member.gid = attributes.owner
            member.uname = member.gname = ""
            if attributes.mode is not None and not member.issym():
                member.mode = attributes.mode
            with _content(entry, member) as content:
                archive.addfile(member, content)


def _text_member(entry: Entry) -> tarfile.TarInfo:
    member = tarfile.TarInfo(entry.name)
    member.mode, member.mtime, member.size = 0o644, int(time.time()), len(entry.text.encode())
    return member


def _content(entry: Entry, member: tarfile.TarInfo) -> IO[bytes]:
    return entry.source.open("rb") if entry.source and member.isreg() else io.BytesIO(entry.text.encode())


def copy_bounded(source: BinaryIO, sink: BinaryIO, bounds: Bounds) -> None:
    metered = _Metered(source, bounds)
    while data := metered.read(_CHUNK):
        sink.write(data)


def extract(
    source: BinaryIO, target: Path, bounds: Bounds, *, wanted: Callable[[str], bool] = lambda _: True
) -> Extracted:
    """Unpack into the directory ``target``; files that exist are replaced.

    ``wanted`` is asked for each file and link by its relative name. Raises ``InvalidInput`` for a name that leads out
    of the target or is no archive, ``TooLarge`` above ``bounds``.
    """
    result = Extracted()
    target.mkdir(parents=True, exist_ok=True)
    root = os.open(target, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        metered = _Metered(source, bounds)
        with metered.header():
            archive = tarfile.open(fileobj=metered, mode="r|")  # noqa: SIM115 - closing it would read on
        while True:
            with metered.header():
                member = archive.next()
            if member is None:
                break
            # The class remembers every entry, with all that its extensions hold; a stream never goes back to one.
            archive.members.clear()  # type: ignore[attr-defined]
            result.entries += 1
            if result.entries > bounds.entries:
                raise TooLarge(f"The sandbox sends more than {bounds.entries} files.")
            if member.issparse():
                raise InvalidInput(f"The sandbox sent {member.name!r} as a sparse file, which may unfold to any size.")
            if not 0 <= member.size <= bounds.total_bytes:
                raise TooLarge(f"The sandbox sends {member.name!r} with an impossible size.")
            _extract_member(archive, member, root, result, wanted)
            _read_rest(archive, member)
    except (tarfile.TarError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidInput(f"The sandbox sent no valid archive: {error}.") from error
    finally:
        os.close(root)
    return result


def _read_rest(archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
    """What was not wanted of an entry, so that the next thing in the stream is a header."""
    if member.isreg() or member.type not in tarfile.SUPPORTED_TYPES:
        archive.fileobj.seek(member.offset_data + -(-member.size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE)


def _parts(name: str) -> tuple[str, ...]:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name:
        raise InvalidInput(f"The sandbox sent an archive with the entry {name!r}, which leads out of its target.")
    return path.parts


def _extract_member(
    archive: tarfile.TarFile, member: tarfile.TarInfo, root: int, result: Extracted, wanted: Callable[[str], bool]
) -> None:
    parts = _parts(member.name)
    if member.isdir():
        os.close(_folder(root, parts))
        return
    name = "/".join(parts)
    if not parts or not wanted(name):
        return
    parent = _folder(root, parts[:-1])
    try:
        if member.isreg():
            content = archive.extractfile(member)
            if content is not None:
                _write(parent, parts[-1], content, member.mode)
        elif member.issym() and stays_inside(parts, member.linkname):
            _clear(parent, parts[-1])
            os.symlink(member.linkname, parts[-1], dir_fd=parent)
        elif member.islnk() and wanted("/".join(_parts(member.linkname))):
            _link(root, _parts(member.linkname), parent, parts[-1])
        else:
            result.left_out.append(name)
    finally:
        os.close(parent)


def stays_inside(parts: tuple[str, ...], link: str) -> bool:
    """Whether a link at ``parts`` leads to somewhere below the root, whatever other such links it passes.

    ``..`` is allowed at its beginning only, where it climbs real directories; behind a name it could climb from
    wherever another link had led.
    """
    path = PurePosixPath(link)
    climbs = 0
    for part in path.parts:
        if part != "..":
            break
        climbs += 1
    return bool(path.parts) and not path.is_absolute() and climbs < len(parts) and ".." not in path.parts[climbs:]


def _folder(root: int, parts: tuple[str, ...]) -> int:
    """Open the directory at ``parts``, making what is missing and replacing links and files in the way."""
    current = os.dup(root)
    try:
        for part in parts:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, 0o755, dir_fd=current)
            try:
                following = os.open(part, _FOLDER, dir_fd=current)
            except NotADirectoryError:
                os.unlink(part, dir_fd=current)
                os.mkdir(part, 0o755, dir_fd=current)
                following = os.open(part, _FOLDER, dir_fd=current)
            os.close(current)
            current = following
    except BaseException:
        os.close(current)
        raise
    return current


def _clear(parent: int, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=parent)


def _write(parent: int, name: str, content: IO[bytes], mode: int) -> None:
    _clear(parent, name)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, 0o600, dir_fd=parent), "wb") as file:
        while data := content.read(_CHUNK):
            file.write(data)
        os.fchmod(file.fileno(), 0o600 | mode & 0o755)


def _link(root: int, source: tuple[str, ...], parent: int, name: str) -> None:
    folder = _folder(root, source[:-1])
    try:
        if not stat.S_ISREG(os.stat(source[-1], dir_fd=folder, follow_symlinks=False).st_mode):
            raise InvalidInput(f"The sandbox sent a hard link {name!r} to something that is no file.")
        _clear(parent, name)
        os.link(source[-1], name, src_dir_fd=folder, dst_dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError as error:
        raise InvalidInput(f"The sandbox sent a hard link {name!r} to a file that it did not send.") from error
    finally:
        os.close(folder)
