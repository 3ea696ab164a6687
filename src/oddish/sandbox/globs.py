"""Patterns of ``.dockerignore`` and COPY: ``*`` and ``?`` stop at slashes, ``**`` does not.

They come with tasks, so matching takes time in proportion to pattern and path, whatever the pattern: all places in the
pattern that fit what was read so far are the bits of one number. A regular expression would try them one by one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from oddish.errors import InvalidTask

LONGEST = 4096
"""Characters of a pattern; no path is longer."""

_ANYTHING = re.compile(".", re.DOTALL)
_IN_NAME = re.compile("[^/]")
_NOTHING = re.compile("(?!)")


@dataclass(slots=True)
class Glob:
    """One pattern. Bit N of a number of places stands for what comes before symbol N fitting."""

    symbols: list[re.Pattern[str]] = field(default_factory=list)
    loops: int = 0
    """Places whose symbols may fit any number of characters."""
    jumps: list[tuple[int, int]] = field(default_factory=list)
    """From which place to which one may go without a character; ascending."""
    _known: dict[str, int] = field(default_factory=dict)
    """Character -> places whose symbols it fits."""

    def matches(self, path: str) -> bool:
        """Whether the whole ``path`` fits."""
        return len(path) in self._ends(path)

    def covers(self, path: str) -> bool:
        """Whether ``path`` or a directory above it fits."""
        return any(end == len(path) or path[end] == "/" for end in self._ends(path))

    def _ends(self, path: str) -> Iterator[int]:
        """Lengths of the beginnings of ``path`` that fit."""
        places = self._after_jumps(1)
        for position, character in enumerate(path):
            if places >> len(self.symbols):
                yield position
            if character not in self._known:
                fits = (bool(symbol.fullmatch(character)) << place for place, symbol in enumerate(self.symbols))
                self._known[character] = sum(fits)
            fitting = places & self._known[character]
            places = self._after_jumps((fitting & ~self.loops) << 1 | fitting & self.loops)
            if not places:
                return
        if places >> len(self.symbols):
            yield len(path)

    def _after_jumps(self, places: int) -> int:
        for origin, target in self.jumps:
            if places >> origin & 1:
                places |= 1 << target
        return places

    def add(self, symbol: re.Pattern[str]) -> None:
        self.symbols.append(symbol)

    def add_loop(self, symbol: re.Pattern[str]) -> None:
        """``symbol`` any number of times, or not at all."""
        place = len(self.symbols)
        self.loops |= 1 << place
        self.jumps.append((place, place + 1))
        self.symbols.append(symbol)

    def add_directories(self) -> None:
        """Nothing, or anything that ends with a slash."""
        place = len(self.symbols)
        self.jumps += [(place, place + 1), (place, place + 3)]
        self.add(_NOTHING)
        self.add_loop(_ANYTHING)
        self.add(re.compile("/"))


def pattern(glob: str) -> Glob:
    """Raises ``InvalidTask`` for one that cannot be read."""
    if len(glob) > LONGEST:
        raise InvalidTask(f"The pattern {glob[:40]!r}... has more than {LONGEST} characters.", fix="Shorten it.")
    result = Glob()
    position = 0
    while position < len(glob):
        if glob.startswith("**/", position):
            result.add_directories()
            position += 3
        elif glob.startswith("**", position):
            result.add_loop(_ANYTHING)
            position += 2
        elif glob[position] == "\\" and position + 1 < len(glob):
            result.add(re.compile(re.escape(glob[position + 1])))
            position += 2
        elif glob[position] == "*":
            result.add_loop(_IN_NAME)
            position += 1
        elif glob[position] == "?":
            result.add(_IN_NAME)
            position += 1
        elif glob[position] == "[" and (end := glob.find("]", position + 2)) != -1:
            result.add(_members(glob, glob[position + 1 : end]))
            position = end + 1
        else:
            result.add(re.compile(re.escape(glob[position])))
            position += 1
    return result


def _members(glob: str, text: str) -> re.Pattern[str]:
    inner = re.sub(r"([\\\[&~|])", r"\\\1", text)
    try:
        return re.compile(f"[{'^' + inner[1:] if inner[0] in '^!' else inner}]", re.DOTALL)
    except re.error as error:
        raise InvalidTask(f"The pattern {glob!r} cannot be read: {error}.", fix="Correct it.") from error
