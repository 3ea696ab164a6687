"""Writing the members of an archive below one directory, whatever the archive's format. Standard library only."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from oddish.errors import InvalidTask, TooLarge

if TYPE_CHECKING:
    from oddish.tasks.archive import ArchiveLimits

MAX_PATH_BYTES = 1024
MAX_NAME_BYTES = 255
MAX_LINK_HOPS = 40


@dataclass(frozen=True, slots=True)
class Member:
    """One member as an archive states it; nothing of it has been checked."""

    name: str
    kind: Literal["file", "directory", "symlink", "hardlink"]
    size: int
    executable: bool
    target: str
    """Of a link."""
    content: Iterator[bytes]
    """Of a file; to be consumed before the next member is asked for."""


class Extraction:
    """Extracts into ``root``, an empty directory that nobody else writes to.

    Symbolic links are made last, so that no member is ever written through one.
    """

    def __init__(self, root: Path, limits: "ArchiveLimits") -> None:
        self._root = root
        self._limits = limits
        self._kinds: dict[tuple[str, ...], str] = {(): "directory"}
        self._links: dict[tuple[str, ...], str] = {}
        self.entries = 0
        self.files = 0
        self.extracted_bytes = 0

    def add(self, member: Member) -> None:
        """Raises ``InvalidTask`` or ``TooLarge`` naming the member."""
        parts = _parts(member.name)
        if not parts:
            if member.kind != "directory":
                raise refusal(member.name, "has no name")
            return
        existing = self._kinds.get(parts)
        if existing == "directory" and member.kind == "directory":
            return
        if existing is not None:
            raise refusal(member.name, "occurs twice")
        self._make_parents(parts, member.name)
        self._count(member.name)
        path = self._root.joinpath(*parts)
        if member.kind == "directory":
            path.mkdir()
            path.chmod(0o755)
        elif member.kind == "symlink":
            self._links[parts] = _link_target(member)
        elif member.kind == "hardlink":
            self._copy(member, path)
        else:
            self._write(member, path)
        self._kinds[parts] = member.kind

    def finish(self) -> None:
        """Make the symbolic links. Raises ``InvalidTask`` naming one that leads out of the archive or nowhere."""
        for parts, target in self._links.items():
            self._resolve(parts, "/".join(parts))
            self._root.joinpath(*parts).symlink_to(target)

    def _make_parents(self, parts: tuple[str, ...], name: str) -> None:
        for depth in range(1, len(parts)):
            parent = parts[:depth]
            kind = self._kinds.get(parent)
            if kind is None:
                self._count(name)
                self._kinds[parent] = "directory"
                directory = self._root.joinpath(*parent)
                directory.mkdir()
                directory.chmod(0o755)
            elif kind != "directory":
                raise refusal(name, f'lies below "{"/".join(parent)}", which is no directory')

    def _count(self, name: str) -> None:
        self.entries += 1
        if self.entries > self._limits.max_entries:
            raise TooLarge(
                f'The archive has more than {self._limits.max_entries} entries, reached at "{shown(name)}".',
                fix="Leave out what the task does not need.",
            )

    def _reserve(self, size: int, name: str) -> None:
        self.extracted_bytes += size
        if self.extracted_bytes > self._limits.max_extracted_bytes:
            raise TooLarge(
                f"The archive extracts to more than {self._limits.max_extracted_bytes} bytes, reached at"
                f' "{shown(name)}".',
                fix="Leave out what the task does not need.",
            )

    def _write(self, member: Member, path: Path) -> None:
        self.files += 1
        self._reserve(member.size, member.name)
        written = 0
        with path.open("xb") as file:
            for chunk in member.content:
                written += file.write(chunk)
        if written != member.size:
            raise refusal(member.name, f"ends after {written} of {member.size} bytes")
        path.chmod(0o755 if member.executable else 0o644)

    def _copy(self, member: Member, path: Path) -> None:
        source = _parts(member.target)
        if self._kinds.get(source) not in ("file", "hardlink"):
            raise refusal(member.name, f'is a hard link to "{shown(member.target)}", which is no earlier file')
        original = self._root.joinpath(*source)
        self.files += 1
        self._reserve(original.stat().st_size, member.name)
        shutil.copy(original, path)

    def _resolve(self, link: tuple[str, ...], name: str) -> None:
        """Walk where ``link`` leads, through other links too, without leaving the archive."""
        at = link[:-1]
        waiting = self._links[link].split("/")
        hops = 0
        while waiting:
            step = waiting.pop(0)
            if step in ("", "."):
                continue
            if step == "..":
                if not at:
                    raise refusal(name, f'is a symbolic link out of the archive, to "{shown(self._links[link])}"')
                at = at[:-1]
                continue
            at = (*at, step)
            if at in self._links:
                hops += 1
                if hops > MAX_LINK_HOPS:
                    raise refusal(name, "is a symbolic link that leads to itself")
                waiting = [*self._links[at].split("/"), *waiting]
                at = at[:-1]


def refusal(name: str, reason: str) -> InvalidTask:
    return InvalidTask(f'The archive\'s member "{shown(name)}" {reason}.', fix="Pack the task directory again.")


def shown(name: str) -> str:
    """``name`` fit for a message: printable, at most 200 characters."""
    text = "".join(character if character.isprintable() else ascii(character)[1:-1] for character in name)
    return text if len(text) <= 200 else f"{text[:197]}..."


def _parts(name: str) -> tuple[str, ...]:
    try:
        encoded = name.encode()
    except UnicodeEncodeError:
        raise refusal(name, "has a name that is not UTF-8") from None
    if name.startswith("/"):
        raise refusal(name, "has an absolute path")
    if "\\" in name or any(ord(character) < 32 or ord(character) == 127 for character in name):
        raise refusal(name, "has a backslash or a control character in its name")
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if ".." in parts:
        raise refusal(name, 'has ".." in its path')
    if len(encoded) > MAX_PATH_BYTES or any(len(part.encode()) > MAX_NAME_BYTES for part in parts):
        raise refusal(name, "has a name that is too long")
    return parts


def _link_target(member: Member) -> str:
    target = member.target
    if target.startswith("/"):
        raise refusal(member.name, f'is a symbolic link to an absolute path, "{shown(target)}"')
    try:
        encoded = target.encode()
    except UnicodeEncodeError:
        raise refusal(member.name, "is a symbolic link to a name that is not UTF-8") from None
    if not target or "\0" in target or "\\" in target or len(encoded) > MAX_PATH_BYTES:
        raise refusal(member.name, "is a symbolic link to a malformed name")
    return target
