"""The Dockerfile syntax: text to instructions. What they mean is in ``plan``."""

import json
import re
from dataclasses import dataclass

from oddish.errors import InvalidTask
from oddish.sandbox.variables import raw_words

_DIRECTIVE = re.compile(r"^#\s*(escape|syntax|check)\s*=\s*(.+?)\s*$", re.IGNORECASE)
_HEREDOC = re.compile(r"\d*<<(-?)(['\"]?)([^<'\"]+)\2")
_FLAG = re.compile(r"^--([a-z][a-z-]*)(?:=(\S*))?(?:\s+|$)")
_WITH_HEREDOC = frozenset({"RUN", "COPY", "ADD"})
_WITH_FLAGS = frozenset({"FROM", "RUN", "COPY", "ADD", "HEALTHCHECK"})
_ESCAPES = ("\\", "`")
MOST_INSTRUCTIONS = 500
USE_DOCKER = "Use the docker environment for this task (-e docker)."


class NeedsEngine(InvalidTask):
    """A Dockerfile that a container engine may build all the same."""


@dataclass(frozen=True, slots=True)
class Heredoc:
    """A here-document: its text, and whether variables in it are expanded (its word was not quoted)."""

    word: str
    text: str
    expand: bool
    mark: str
    """The word of the instruction that announced it, such as ``<<EOF``."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction; ``line`` counts from 1, ``value`` has continuation lines joined and flags taken off."""

    name: str
    value: str
    line: int
    flags: tuple[tuple[str, str], ...] = ()
    heredocs: tuple[Heredoc, ...] = ()
    escape: str = "\\"

    def exec_form(self) -> tuple[str, ...] | None:
        """The strings of a JSON array, or None for the shell form."""
        return exec_form(self.value)


def exec_form(value: str) -> tuple[str, ...] | None:
    """The strings of ``value`` where it is a JSON array of strings, else None."""
    if not value.startswith("["):
        return None
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        return None
    if not isinstance(parsed, list) or not all(isinstance(item, str) for item in parsed):
        return None
    return tuple(parsed)


def refuse(line: int, what: str, fix: str) -> InvalidTask:
    return InvalidTask(f"Dockerfile line {line}: {what}", fix=fix)


def needs_engine(line: int, what: str, fix: str = USE_DOCKER) -> NeedsEngine:
    return NeedsEngine(f"Dockerfile line {line}: {what}", fix=fix)


def parse(text: str) -> tuple[Instruction, ...]:
    """Raises ``InvalidTask`` naming the line for text that no engine would accept either."""
    lines = [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]
    escape = _escape(lines)
    instructions: list[Instruction] = []
    position = 0
    while position < len(lines):
        if _is_blank(lines[position]):
            position += 1
            continue
        if len(instructions) == MOST_INSTRUCTIONS:
            raise needs_engine(
                position + 1, f"there are more than {MOST_INSTRUCTIONS} instructions.", f"Join some. {USE_DOCKER}"
            )
        start = position
        statement, position = _join(lines, position, escape)
        name, value = (*statement.split(None, 1), "", "")[:2]
        name, value = name.upper(), value.strip()
        heredocs: tuple[Heredoc, ...] = ()
        if name in _WITH_HEREDOC and "<<" in value and exec_form(value) is None:
            marks = [mark for part in raw_words(value, escape) if (mark := _HEREDOC.fullmatch(part))]
            heredocs, position = _heredocs(lines, position, marks, start)
        flags, value = _flags(value) if name in _WITH_FLAGS else ((), value)
        instructions.append(Instruction(name, value, start + 1, flags, heredocs, escape))
    return tuple(instructions)


def _escape(lines: list[str]) -> str:
    for number, line in enumerate(lines, 1):
        match = _DIRECTIVE.match(line)
        if not match:
            break
        if match[1].lower() == "escape":
            if match[2] not in _ESCAPES:
                raise refuse(number, f"the escape character {match[2]!r} is neither \\ nor `.", "Choose one of them.")
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
        if stripped.endswith(escape) and not stripped.endswith(escape * 2):
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
        found.append(Heredoc(word, "".join(content), expand=not quote, mark=mark[0]))
    return tuple(found), position


def _flags(value: str) -> tuple[tuple[tuple[str, str], ...], str]:
    flags = []
    while match := _FLAG.match(value):
        flags.append((match[1], match[2] or ""))
        value = value[match.end() :]
    return tuple(flags), value.strip()
