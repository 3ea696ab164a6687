"""gitignore patterns, in the two dialects that the engine uses, matched in bounded time.

The rules come from uploaded tasks, so matching must not depend on how a pattern backtracks: a path segment is matched
by a regular expression of atomic groups (linear), a whole path by a set of positions (segments times parts).
Standard library only.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

MAX_PATTERNS = 1000

type Dialect = Literal["documented", "git"]
"""``documented``: the last pattern that matches decides, ``foo/*`` leaves deeper files alone. ``git``: as git itself
behaves, a pattern that names the path outweighs one that names a parent directory, ``foo/*`` covers deeper files."""


class PatternError(ValueError):
    """A line that is no pattern; ``line`` counts from 1."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason


class IgnoreRules:
    """The patterns of one ignore file.

    Paths given to it are relative to that file's directory, with a trailing "/" for a directory.
    """

    def __init__(self, lines: Iterable[str], dialect: Dialect) -> None:
        self._documented = dialect == "documented"
        self._patterns: list[_Pattern] = []
        for number, line in enumerate(lines, start=1):
            pattern = _parse(line, number, self._documented)
            if pattern is not None:
                self._patterns.append(pattern)
        if len(self._patterns) > MAX_PATTERNS:
            raise PatternError(MAX_PATTERNS + 1, f"there are more than {MAX_PATTERNS} patterns")
        self._patterns.reverse()
        self.has_exceptions = any(not pattern.ignores for pattern in self._patterns)

    def decision(self, path: str) -> bool | None:
        """True: ignored, False: kept by a "!" pattern, None: no pattern matches."""
        parts = path.split("/")
        parental: bool | None = None
        for pattern in self._patterns:
            hit = pattern.match(parts)
            if hit is None:
                continue
            if self._documented or hit == "itself":
                return pattern.ignores
            if parental is None:
                parental = pattern.ignores
        return parental

    def ignores(self, path: str) -> bool:
        return self.decision(path) is True


type _Hit = Literal["itself", "parent"]
type _Segment = re.Pattern[str] | None
"""None stands for ``**``."""


@dataclass(frozen=True, slots=True)
class _Pattern:
    ignores: bool
    segments: tuple[_Segment, ...]
    below: _Hit | None
    """For ``dir/`` and ``dir/**``, which match only what lies under a directory: how such a match counts."""
    children_only: bool
    """Ends in ``/*`` in the documented dialect: deeper paths are not matched."""

    def match(self, parts: list[str]) -> _Hit | None:
        count = len(parts)
        if not self.segments:
            return "itself"
        positions = {0}
        for segment in self.segments:
            if segment is None:
                positions = set(range(min(positions), count))
            else:
                positions = {at + 1 for at in positions if at < count and segment.fullmatch(parts[at])}
            if not positions:
                return None
        if self.below is not None:
            return self.below if min(positions) < count else None
        if count in positions:
            return "itself"
        if self.children_only:
            return "itself" if count - 1 in positions and not parts[-1] else None
        return "parent"


def _parse(line: str, number: int, documented: bool) -> _Pattern | None:
    pattern = line if line.endswith("\\ ") else line.rstrip()
    if not pattern or pattern.startswith("#") or (pattern == "/" and not documented):
        return None
    ignores = not pattern.startswith("!")
    pattern = pattern if ignores else pattern[1:]
    names = pattern.split("/")
    directory = not names[-1] and not (documented and pattern == "/")
    if not names[0]:
        del names[0]
    elif len(names) == 1 or (len(names) == 2 and not names[1]):
        names.insert(0, "**")
    if not names:
        raise PatternError(number, "it is empty")
    if not names[-1]:
        names[-1] = "**"
    names = [name for index, name in enumerate(names) if name != "**" or index == 0 or names[index - 1] != "**"]
    if (names == ["**"] and not directory) or names == ["**", "*"]:
        return _Pattern(ignores, (), below=None, children_only=False)
    if names == ["**"]:
        names = ["**", "*", "**"]
    below: _Hit | None = None
    if len(names) > 1 and names[-1] == "**":
        below = "parent" if directory else "itself"
        del names[-1]
    try:
        segments = tuple(None if name == "**" else _segment(name, documented) for name in names)
    except _UnclosedBracket:
        return None
    except ValueError as error:
        raise PatternError(number, str(error)) from None
    return _Pattern(ignores, segments, below, children_only=documented and below is None and names[-1] == "*")


class _UnclosedBracket(Exception):
    pass


def _segment(glob: str, documented: bool) -> re.Pattern[str]:
    if glob == "*":
        return re.compile(".+", re.DOTALL)
    runs = _fixed_runs(glob, documented)
    first, *rest = runs
    if not rest:
        return re.compile(first, re.DOTALL)
    middle = "".join(f"(?>.*?{run})" for run in rest[:-1] if run)
    # Only the last run has to fit the end; the earlier ones lose nothing by taking their first fit.
    return re.compile(f"{first}{middle}.*{rest[-1]}", re.DOTALL)


def _fixed_runs(glob: str, documented: bool) -> list[str]:
    """Regular expressions for what stands between the stars; each matches a fixed number of characters."""
    runs = [""]
    at = 0
    while at < len(glob):
        character = glob[at]
        at += 1
        if character == "\\":
            if at == len(glob):
                raise ValueError('a "\\" at its end escapes nothing')
            runs[-1] += re.escape(glob[at])
            at += 1
        elif character == "*":
            runs.append("")
        elif character == "?":
            runs[-1] += "."
        elif character == "[":
            end = _bracket_end(glob, at)
            if end is not None:
                runs[-1] += _bracket(glob[at:end])
                at = end + 1
            elif documented:
                runs[-1] += r"\["
            else:
                raise _UnclosedBracket
        else:
            runs[-1] += re.escape(character)
    return runs


def _bracket_end(glob: str, start: int) -> int | None:
    at = start + (glob[start : start + 1] in ("!", "^"))
    at += glob[at : at + 1] == "]"
    end = glob.find("]", at)
    return None if end < 0 else end


def _bracket(content: str) -> str:
    negated = content[0] in "!^"
    members = content[1:] if negated else content
    expression = ""
    at = 0
    while at < len(members):
        low = members[at]
        if members[at + 1 : at + 2] == "-" and at + 2 < len(members):
            high = members[at + 2]
            if high < low:
                raise ValueError(f'the range "{low}-{high}" runs backwards')
            expression += f"{re.escape(low)}-{re.escape(high)}"
            at += 3
        else:
            expression += re.escape(low)
            at += 1
    return f"[{'^' if negated else ''}{expression}]"
