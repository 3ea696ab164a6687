"""The build context: which files of a task's environment directory a COPY means."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from oddish.sandbox.dockerfile import refuse

_WILD = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Source:
    """A file or directory of the context, by its relative path (``.`` is the whole)."""

    relative: str
    path: Path

    @property
    def is_directory(self) -> bool:
        return self.path.is_dir() and not self.path.is_symlink()


def pattern(glob: str) -> re.Pattern[str]:
    """A ``.dockerignore`` or COPY pattern: ``*`` and ``?`` stop at slashes, ``**`` does not."""
    result = []
    position = 0
    while position < len(glob):
        if glob.startswith("**/", position):
            result.append("(?:.*/)?")
            position += 3
        elif glob.startswith("**", position):
            result.append(".*")
            position += 2
        elif glob[position] == "*":
            result.append("[^/]*")
            position += 1
        elif glob[position] == "?":
            result.append("[^/]")
            position += 1
        elif glob[position] == "[" and (end := glob.find("]", position + 2)) != -1:
            inner = glob[position + 1 : end].replace("\\", r"\\")
            result.append(f"[{'^' + inner[1:] if inner[0] in '^!' else inner}]")
            position = end + 1
        else:
            result.append(re.escape(glob[position]))
            position += 1
    return re.compile("".join(result))


class Context:
    """A directory that COPY may read. Links are copied as links; none is followed, inside or out."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._rules = self._read_ignored()

    def _read_ignored(self) -> list[tuple[bool, re.Pattern[str]]]:
        file = self.directory / ".dockerignore"
        if file.is_symlink() or not file.is_file():
            return []
        rules = []
        for raw in file.read_text(errors="replace").splitlines():
            line = raw.strip()
            if not line or line.startswith("#"):
                continue
            keep = line.startswith("!")
            glob = os.path.normpath(line.removeprefix("!").strip()).lstrip("/")
            rules.append((keep, pattern(glob)))
        return rules

    def ignored(self, relative: str) -> bool:
        """Whether ``.dockerignore`` leaves out this path or one above it; the last rule that matches decides."""
        parts = relative.split("/")
        above = ["/".join(parts[: count + 1]) for count in range(len(parts))]
        result = False
        for keep, rule in self._rules:
            if any(rule.fullmatch(path) for path in above):
                result = not keep
        return result

    def sources(self, wanted: str, line: int) -> list[Source]:
        """What one source argument of COPY names. Raises ``InvalidTask`` when that is nothing or outside."""
        relative = os.path.normpath(wanted.lstrip("/") or ".")
        if relative.split("/")[0] == "..":
            raise refuse(line, f"COPY source {wanted!r} is outside the build context.", "Copy from below environment/.")
        if not _WILD.search(relative):
            self._refuse_link_on_the_way(relative, line)
            path = self.directory / relative
            if not os.path.lexists(path) or (relative != "." and self.ignored(relative)):
                raise refuse(line, f"COPY source {wanted!r} does not exist in environment/.", "Correct the name.")
            return [Source(relative, path)]
        rule = pattern(relative)
        depth = relative.count("/")
        found = [
            Source(name, self.directory / name)
            for name in sorted(self._names(depth))
            if rule.fullmatch(name) and not self.ignored(name)
        ]
        if not found:
            raise refuse(
                line, f"COPY source {wanted!r} matches nothing in environment/.", "Add it or correct the pattern."
            )
        return found

    def _names(self, depth: int) -> list[str]:
        level = [""]
        for _ in range(depth):
            level = [
                f"{name}{entry.name}/"
                for name in level
                for entry in self._entries(name)
                if entry.is_dir(follow_symlinks=False)
            ]
        return [f"{name}{entry.name}" for name in level for entry in self._entries(name)]

    def _entries(self, relative: str) -> list[os.DirEntry[str]]:
        with os.scandir(self.directory / relative) as entries:
            return list(entries)

    def _refuse_link_on_the_way(self, relative: str, line: int) -> None:
        current = self.directory
        for part in relative.split("/")[:-1]:
            current /= part
            if current.is_symlink():
                raise refuse(
                    line, f"COPY source {relative!r} passes the symbolic link {part!r}.", "Copy the real path."
                )
