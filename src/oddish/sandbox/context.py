"""The build context: which files of a task's environment directory a COPY means."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oddish.sandbox.dockerfile import refuse
from oddish.sandbox.globs import Glob, pattern

_WILD = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Source:
    """A file or directory of the context; links have been followed."""

    relative: str
    """Where it really is; ``.`` is the whole."""
    path: Path
    name: str
    """What it was called, and is called where it lands."""

    @property
    def is_directory(self) -> bool:
        return self.path.is_dir()


@dataclass(frozen=True, slots=True)
class _Rule:
    keeps: bool
    pattern: Glob


class Context:
    """A directory that COPY may read. A link that COPY names is followed, one below a copied directory stays a link;
    none leads outside."""

    def __init__(self, directory: Path, dockerfile: str = "Dockerfile") -> None:
        self.directory = directory
        self._rules = self._read_ignored(dockerfile)

    def _read_ignored(self, dockerfile: str) -> list[_Rule]:
        for name in (f"{dockerfile}.dockerignore", ".dockerignore"):
            file = self.directory / name
            if file.is_file() and not file.is_symlink():
                return _rules(file.read_text(errors="replace"))
        return []

    def ignored(self, relative: str) -> bool:
        """Whether ``.dockerignore`` leaves out this path or one above it; the last rule that matches decides."""
        result = False
        for rule in self._rules:
            if rule.keeps is result and rule.pattern.covers(relative):
                result = not rule.keeps
        return result

    def sources(self, wanted: str, line: int) -> list[Source]:
        """What one source argument of COPY names; a pattern may match nothing.

        Raises ``InvalidTask`` for a name that is missing or leads outside.
        """
        relative = os.path.normpath(wanted.lstrip("/") or ".")
        if relative.split("/")[0] == "..":
            raise refuse(line, f"COPY source {wanted!r} is outside the build context.", "Copy from below environment/.")
        if _WILD.search(relative):
            rule = pattern(relative)
            names = [name for name in sorted(self._names(relative.count("/"))) if rule.matches(name)]
            return [self._source(name, wanted, line) for name in names if self._is_visible(name)]
        if not os.path.lexists(self.directory / relative) or not self._is_visible(relative):
            raise refuse(line, f"COPY source {wanted!r} does not exist in environment/.", "Correct the name.")
        return [self._source(relative, wanted, line)]

    def below(self, source: Source) -> Iterator[tuple[str, Path]]:
        """Names relative to the directory ``source``, and paths, of what COPY takes of it; parents come first."""
        base = "" if source.relative == "." else f"{source.relative}/"
        yield from self._walk(source.path, base, "")

    def _walk(self, directory: Path, base: str, name: str) -> Iterator[tuple[str, Path]]:
        with os.scandir(directory) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                inner = f"{name}{entry.name}"
                path = Path(entry.path)
                is_directory = entry.is_dir(follow_symlinks=False)
                if not self.ignored(f"{base}{inner}"):
                    yield inner, path
                    if is_directory:
                        yield from self._walk(path, base, f"{inner}/")
                elif is_directory and self._has_exceptions:
                    kept = list(self._walk(path, base, f"{inner}/"))
                    yield from [(inner, path), *kept] if kept else []

    @property
    def _has_exceptions(self) -> bool:
        return any(rule.keeps for rule in self._rules)

    def _is_visible(self, relative: str) -> bool:
        """An ignored directory is there when something below it is kept."""
        if relative == "." or not self.ignored(relative):
            return True
        path = self.directory / relative
        return path.is_dir() and next(self._walk(path, f"{relative}/", ""), None) is not None

    def _source(self, relative: str, wanted: str, line: int) -> Source:
        path = self.directory / relative
        real = Path(os.path.realpath(path))
        root = Path(os.path.realpath(self.directory))
        if not real.is_relative_to(root):
            raise refuse(line, f"COPY source {wanted!r} is a link out of environment/.", "Copy the real file there.")
        if not real.exists():
            raise refuse(line, f"COPY source {wanted!r} is a link to nothing.", "Correct the link.")
        return Source(str(real.relative_to(root)), real, path.name)

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


def _rules(text: str) -> list[_Rule]:
    rules = []
    for raw in text.removeprefix("\ufeff").splitlines():
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        glob = os.path.normpath(line.removeprefix("!").strip()).lstrip("/")
        rules.append(_Rule(line.startswith("!"), pattern(glob)))
    return rules
