"""The Dockerfile syntax: text to instructions. What they mean is in ``plan``."""

import json
import re
from dataclasses import dataclass

from oddish.errors import InvalidTask

_DIRECTIVE = re.compile(r"^#\s*(\w+)\s*=\s*(.+?)\s*$")
_HEREDOC = re.compile(r"<<(-?)([\"']?)([A-Za-z_][A-Za-z0-9_.]*)\2")
_FLAG = re.compile(r"^--([a-z][a-z-]*)(?:=(\S*))?(?:\s+|$)")
_WITH_HEREDOC = frozenset({"RUN", "COPY", "ADD"})
_WITH_FLAGS = frozenset({"FROM", "RUN", "COPY", "ADD", "HEALTHCHECK"})


@dataclass(frozen=True, slots=True)
class Heredoc:
    """A here-document: its text, and whether variables in it are expanded (its word was not quoted)."""

    word: str
    text: str
    expand: bool


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction; ``line`` counts from 1, ``value`` has continuation lines joined and flags taken off."""

    name: str
    value: str
    line: int
    flags: tuple[tuple[str, str], ...] = ()
    heredocs: tuple[Heredoc, ...] = ()

    def exec_form(self) -> tuple[str, ...] | None:
        """The strings of a JSON array, or None for the shell form."""
        if not self.value.startswith("["):
            return None
        try:
            parsed = json.loads(self.value)
        except ValueError:
            return None
        if not isinstance(parsed, list) or not all(isinstance(item, str) for item in parsed):
            return None
        return tuple(parsed)


def refuse(line: int, what: str, fix: str) -> InvalidTask:
    return InvalidTask(f"Dockerfile line {line}: {what}", fix=fix)


def parse(text: str) -> tuple[Instruction, ...]:
    """Raises ``InvalidTask`` naming the line for text that no engine would accept either."""
    lines = text.removeprefix("\ufeff").splitlines()
    escape = _escape(lines)
    instructions = []
    position = 0
    while position < len(lines):
        if _is_blank(lines[position]):
            position += 1
            continue
        start = position
        statement, position = _join(lines, position, escape)
        name, value = (*statement.split(None, 1), "", "")[:2]
        name, value = name.upper(), value.strip()
        heredocs: tuple[Heredoc, ...] = ()
        if name in _WITH_HEREDOC and (marks := list(_HEREDOC.finditer(value))):
            heredocs, position = _heredocs(lines, position, marks, start)
        flags, value = _flags(value) if name in _WITH_FLAGS else ((), value)
        instructions.append(Instruction(name, value, start + 1, flags, heredocs))
    return tuple(instructions)


def _escape(lines: list[str]) -> str:
    for line in lines:
        match = _DIRECTIVE.match(line)
        if not match:
            break
        if match[1].lower() == "escape":
            return match[2]
    return "\\"


def _is_blank(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _join(lines: list[str], position: int, escape: str) -> tuple[str, int]:
    """Join continuation lines; comments and empty lines between them vanish."""
    parts: list[str] = []
    while position < len(lines):
        line = lines[position]
        position += 1
        if parts and _is_blank(line):
            continue
        stripped = line.rstrip()
        if stripped.endswith(escape):
            parts.append(stripped[: -len(escape)])
            continue
        parts.append(line)
        break
    return "".join(parts), position


def _heredocs(
    lines: list[str], position: int, marks: list[re.Match[str]], start: int
) -> tuple[tuple[Heredoc, ...], int]:
    found = []
    for mark in marks:
        strip_tabs, quote, word = mark[1] == "-", mark[2], mark[3]
        content: list[str] = []
        while True:
            if position >= len(lines):
                raise refuse(start + 1, f"the here-document {word!r} never ends.", f"Add a line with {word} alone.")
            line = lines[position].lstrip("\t") if strip_tabs else lines[position]
            position += 1
            if line == word:
                break
            content.append(line + "\n")
        found.append(Heredoc(word, "".join(content), expand=not quote))
    return tuple(found), position


def _flags(value: str) -> tuple[tuple[tuple[str, str], ...], str]:
    flags = []
    while match := _FLAG.match(value):
        flags.append((match[1], match[2] or ""))
        value = value[match.end() :]
    return tuple(flags), value.strip()
