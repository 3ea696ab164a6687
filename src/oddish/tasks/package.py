"""What of a task directory is published, its identity, and the archive that carries it. Standard library only."""

import gzip
import hashlib
import os
import stat
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Literal

from oddish.errors import InvalidTask
from oddish.tasks.selection import GITIGNORE, HARBORIGNORE, InputFilter, published_rules
from oddish.tasks.structure import CONFIG_FILE, INSTRUCTION_FILE, followed

HASH_PREFIX = "oddish1:"

_SINGLE_FILES = (CONFIG_FILE, INSTRUCTION_FILE, "README.md", "trajectory.json")
_DIRECTORIES = ("environment", "tests", "solution", "steps")
_CHUNK = 1024 * 1024
_LFS_HEADER = b"version https://git-lfs.github.com/spec/"
_COMPRESSION_LEVEL = 1


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """One entry of a task package."""

    path: str
    """Relative to the task directory, with "/"."""
    source: Path
    """Where it is read from."""
    kind: Literal["file", "symlink", "directory", "rules"]
    """``directory``: one without published content. ``rules``: the task's .gitignore, carried along so that the
    receiver selects the same files, and no part of the content hash."""
    size: int
    """Bytes; 0 unless a file or rules."""
    executable: bool
    """The owner may execute it; False unless a file."""
    target: str | None
    """A symbolic link's target, relative and inside the package; None otherwise."""


def publish_set(task_dir: Path) -> list[PublishedFile]:
    """What the engine would publish of ``task_dir``, sorted by path: task.toml, instruction.md, README.md,
    trajectory.json and the directories environment, tests, solution and steps, after .gitignore (or defaults) and
    .harborignore.

    Links whose target is published stay links; a link to another file inside the task becomes that file. Raises
    ``InvalidTask`` naming an entry that cannot travel: a link out of the task, a special or unreadable file, a name
    that is not portable text, a Git LFS pointer.
    """
    root = task_dir.resolve()
    entries = {entry.path: entry for entry in _entries(root)}
    if CONFIG_FILE not in entries:
        raise InvalidTask(f"{CONFIG_FILE} is missing or ignored by {GITIGNORE}.", fix="Every task needs one.")
    names = set(entries)
    for name in entries:
        names.update(_parents(name))
    published = [_settled_link(root, entry, names) if entry.kind == "symlink" else entry for entry in entries.values()]
    return sorted((entry for entry in published if entry is not None), key=lambda entry: entry.path)


def content_hash(files: Iterable[PublishedFile]) -> str:
    """``oddish1:`` and the SHA-256 over path, owner-execute bit, kind and bytes (or link target) of every entry, each
    preceded by its length. Neither the order of ``files`` nor times, owners and other mode bits matter.

    Raises ``InvalidTask`` when a file disappears or changes its size meanwhile.
    """
    digest = hashlib.sha256()
    counted = sorted((file for file in files if file.kind != "rules"), key=lambda file: file.path)
    digest.update(len(counted).to_bytes(8))
    for file in counted:
        mode = b"x" if file.executable else b"-"
        for field in (file.path.encode(), mode, file.kind.encode()):
            digest.update(len(field).to_bytes(8))
            digest.update(field)
        if file.kind == "file":
            digest.update(file.size.to_bytes(8))
            for chunk in _content(file):
                digest.update(chunk)
        else:
            target = (file.target or "").encode()
            digest.update(len(target).to_bytes(8))
            digest.update(target)
    return HASH_PREFIX + digest.hexdigest()


def write_archive(files: Iterable[PublishedFile], fileobj: IO[bytes]) -> None:
    """Write a gzip-compressed tar archive of ``files`` rooted at the task directory's contents.

    Equal entries give equal bytes: no times, owners or names of the machine go in. Raises ``InvalidTask`` when a file
    disappears or changes its size meanwhile.
    """
    with (
        gzip.GzipFile(filename="", mode="wb", compresslevel=_COMPRESSION_LEVEL, fileobj=fileobj, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for file in sorted(files, key=lambda file: file.path):
            member = tarfile.TarInfo(file.path)
            member.mode = 0o755 if file.executable or file.kind == "directory" else 0o644
            if file.kind == "directory":
                member.type = tarfile.DIRTYPE
                archive.addfile(member)
            elif file.kind == "symlink":
                member.type = tarfile.SYMTYPE
                member.linkname = file.target or ""
                archive.addfile(member)
            else:
                member.size = file.size
                archive.addfile(member, _Reader(_content(file)))


class _Reader:
    """Lets ``tarfile`` read checked chunks; it asks for no more than the declared size."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._chunk = b""
        self._position = 0

    def read(self, size: int = -1) -> bytes:
        taken: list[bytes] = []
        while size > 0:
            if self._position == len(self._chunk):
                self._chunk, self._position = next(self._chunks, b""), 0
                if not self._chunk:
                    break
            piece = self._chunk[self._position : self._position + size]
            self._position += len(piece)
            size -= len(piece)
            taken.append(piece)
        return b"".join(taken)


def _content(file: PublishedFile) -> Iterator[bytes]:
    left = file.size
    try:
        with file.source.open("rb") as source:
            while chunk := source.read(_CHUNK):
                left -= len(chunk)
                if left < 0:
                    break
                yield chunk
    except OSError as error:
        raise InvalidTask(f"{file.path} cannot be read: {error.strerror}.", fix="Make it readable.") from None
    if left:
        raise InvalidTask(f"{file.path} changed while it was being read.", fix="Run the command again.")


def _entries(root: Path) -> Iterator[PublishedFile]:
    if not root.is_dir():
        raise InvalidTask(f"{root} is not a directory.", fix=f"Name the directory that holds {CONFIG_FILE}.")
    rules = published_rules(root)
    inputs = InputFilter(root)
    if (root / GITIGNORE).exists():
        yield replace(_entry(root / GITIGNORE, GITIGNORE), kind="rules", executable=False)
    for name in _SINGLE_FILES:
        if (root / name).exists() and not rules.ignores(name):
            yield _entry(root / name, name)

    def walk(directory: Path, name: str) -> Iterator[PublishedFile]:
        empty = True
        try:
            children = sorted(directory.iterdir())
        except OSError as error:
            raise InvalidTask(f"{name}/ cannot be read: {error.strerror}.", fix="Make it readable.") from None
        for path in children:
            child = f"{name}/{path.name}"
            if path.name == HARBORIGNORE or inputs.excludes(path):
                continue
            if path.is_dir() and not path.is_symlink():
                if not rules.has_exceptions and rules.ignores(f"{child}/"):
                    continue
                for entry in walk(path, child):
                    empty = False
                    yield entry
            elif not rules.ignores(child):
                empty = False
                yield _entry(path, child)
        if empty and not rules.ignores(f"{name}/"):
            _check_name(name)
            yield PublishedFile(name, directory, "directory", size=0, executable=False, target=None)

    for name in _DIRECTORIES:
        path = root / name
        if path.is_symlink() and not path.resolve().is_relative_to(root):
            raise _escape(name, path)
        if path.is_dir():
            yield from walk(path, name)


def _entry(path: Path, name: str) -> PublishedFile:
    _check_name(name)
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return PublishedFile(name, path, "symlink", size=0, executable=False, target=os.readlink(path))  # noqa: PTH115
    return _regular(path, name, status)


def _regular(path: Path, name: str, status: os.stat_result) -> PublishedFile:
    if not stat.S_ISREG(status.st_mode):
        raise InvalidTask(
            f"{name} is a {_special(status.st_mode)}, not a file.", fix=f"Remove it, or name it in {GITIGNORE}."
        )
    if not os.access(path, os.R_OK):
        raise InvalidTask(f"{name} cannot be read: permission denied.", fix="Make it readable.")
    if status.st_size <= 1024 and path.read_bytes().startswith(_LFS_HEADER):
        raise InvalidTask(f"{name} is a Git LFS pointer, not the file itself.", fix="Run `git lfs pull`.")
    executable = bool(status.st_mode & stat.S_IXUSR)
    return PublishedFile(name, path, "file", size=status.st_size, executable=executable, target=None)


def _settled_link(root: Path, link: PublishedFile, names: set[str]) -> PublishedFile | None:
    """``link`` with a target that also holds where only the package is; the file behind it where none would."""
    resolved = followed(link.source, link.path)
    if not resolved.is_relative_to(root) or link.target is None:
        raise _escape(link.path, link.source)
    target = resolved.relative_to(root).as_posix()
    parent = os.path.dirname(link.path)  # noqa: PTH120 - text, not a path of this machine
    literal = os.path.normpath(os.path.join(parent, link.target))  # noqa: PTH118 - as above
    if link.kind == "symlink" and not link.target.startswith("/") and literal == target and target in names:
        return link
    if target in names:
        return replace(link, target=os.path.relpath(target, parent or "."))
    if resolved.is_dir():
        raise InvalidTask(
            f"{link.path} is a symbolic link to {target}/, which is not published.",
            fix="Copy the directory to where the link is.",
        )
    if resolved.exists():
        return _regular(resolved, link.path, resolved.stat())
    if link.target.startswith("/") or literal.startswith(".."):
        raise _escape(link.path, link.source)
    return link


def _escape(name: str, path: Path) -> InvalidTask:
    target = os.readlink(path) if path.is_symlink() else path.resolve()  # noqa: PTH115 - verbatim
    return InvalidTask(
        f"{name} is a symbolic link to {target}, outside of the task.", fix="Copy what it points to into the task."
    )


def _check_name(name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InvalidTask(f"The name {name!a} is not UTF-8.", fix="Rename the file.") from None
    if "\\" in name or any(ord(character) < 32 or ord(character) == 127 for character in name):
        raise InvalidTask(f"The name {name!a} contains a backslash or a control character.", fix="Rename the file.")


def _parents(name: str) -> Iterator[str]:
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name


def _special(mode: int) -> str:
    kinds = {stat.S_IFSOCK: "socket", stat.S_IFIFO: "named pipe", stat.S_IFBLK: "device", stat.S_IFCHR: "device"}
    return kinds.get(stat.S_IFMT(mode), "directory" if stat.S_ISDIR(mode) else "special file")
