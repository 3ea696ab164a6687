"""Where the members of a large JSON document begin and end, found without reading what is in them. Pure.

Only strings, braces and brackets are followed: that a span holds JSON shows when it is parsed. Bytes are looked at,
because a span is read from its file again later; in UTF-8, no part of another character looks like one of ASCII.
"""

import json
import re
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

MOST_BRACKETS = 2_000_000
"""That are followed in one document; a text has none."""
MOST_ITEMS = 200_000
MOST_MEMBERS = 10_000

_BLOCK = 1024 * 1024
_SPACE = re.compile(rb"[ \t\r\n]*+")
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_SCALAR = re.compile(rb'[^\s,:{}\[\]"]++')
_TO_BRACKET = re.compile(rb'[^"{}\[\]]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"{}\[\]]*+)*+[{}\[\]]', re.DOTALL)
_QUICK_LEVELS, _QUICK_BYTES = 5, 1024 * 1024
"""Of objects and lists that are passed over at once: an expression that matches holds up all other threads."""
_OPENING, _QUOTE, _BRACE, _BRACKET = frozenset(b"{["), ord('"'), ord("{"), ord("[")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_ENDS = "ends in the middle."

type Span = tuple[int, int]
type Read = Callable[[int, int], bytes]
"""The bytes of a file from one place to another."""


@dataclass(slots=True)
class Outline:
    """The members of an object, and the items of the one that was asked for if it is a list."""

    members: dict[str, Span] = field(default_factory=dict)
    """Without the list."""
    starts: "array[int]" = field(default_factory=lambda: array("Q"))
    """Of the items of the list, like ``ends``."""
    ends: "array[int]" = field(default_factory=lambda: array("Q"))
    problem: str | None = None
    """Why what follows the last item or member is not known."""


class _Broken(Exception):
    """Not JSON, or not all of it. Holds what is said of it."""


def outline(read: Read, size: int, listed: str) -> Outline:
    """Of the object in a file of ``size`` bytes; the items of its member ``listed`` are found too."""
    found = Outline()
    scan = _Scan(read, size)
    try:
        for name, start in scan.members():
            if name == listed and scan.at(start) == _BRACKET:
                found.starts, found.ends = array("Q"), array("Q")
                found.members.pop(name, None)
                for span in scan.items(start):
                    found.starts.append(span[0])
                    found.ends.append(span[1])
            else:
                found.members[name] = (start, scan.skip(start))
    except _Broken as broken:
        found.problem = str(broken)
    return found


def _quick(levels: int) -> bytes:
    """An expression for an object or a list with at most so many ``levels`` in it: five times as fast to follow.

    Whether a quotation mark ends its string depends on the backslashes before it. Up to seven of them are told apart.
    """
    odd, even = (b"|".join(rb"(?<=[^\\]" + rb"\\" * count + b")" for count in range(begin, 8, 2)) for begin in (1, 0))
    string, between = rb'"[^"]*+(?:(?:%b)"[^"]*+)*+(?:%b)"' % (odd, even), rb'[^"{}\[\]]*+'
    inside = string
    for _ in range(levels):
        inside = rb"(?:%b|[{\[]%b(?:%b%b)*+[}\]])" % (string, between, inside, between)
    return inside


_QUICK = re.compile(_quick(_QUICK_LEVELS))
_ITEM = re.compile(rb"[ \t\r\n]*+(%b)[ \t\r\n]*+(?:,|(?=\]))" % _quick(_QUICK_LEVELS))
"""One of a list, with the comma after it."""


def _content(read: Read, size: int) -> bytearray:
    """Less than ``size`` bytes where a file has become shorter."""
    content, end = bytearray(size), 0
    while block := read(end, min(end + _BLOCK, size)):
        content[end : end + len(block)] = block
        end += len(block)
    del content[end:]
    return content


class _Scan:
    def __init__(self, read: Read, size: int) -> None:
        self._read = read
        self._content = _content(read, size)
        self._position = 0
        """After what was last passed."""
        self._brackets = 0

    def at(self, position: int) -> int | None:
        return self._content[position] if position < len(self._content) else None

    def members(self) -> Iterator[tuple[str, int]]:
        """Name and start of each; whoever takes one skips its value, or the items of it."""
        self._position = len(_BYTE_ORDER_MARK) if self._content.startswith(_BYTE_ORDER_MARK) else 0
        if self._next() != _BRACE:
            raise _Broken("is no JSON object.")
        self._position += 1
        number = 0
        while self._next() != ord("}"):
            if number == MOST_MEMBERS:
                raise _Broken(f"has more than {MOST_MEMBERS} members; the others are left out.")
            number += 1
            start = self._position
            name = self._name(start, self.skip(start))
            self._take(b":")
            self._next()
            yield name, self._position
            if self._next() != ord("}"):
                self._take(b",")
        self._position += 1
        if self._next() is not None:
            raise _Broken("goes on after its end.")

    def items(self, start: int) -> Iterator[Span]:
        self._position = start + 1
        number = 0
        while (match := self._at_once(_ITEM)) or self._next() != ord("]"):
            if number == MOST_ITEMS:
                raise _Broken(f"has more than {MOST_ITEMS} messages; the others are left out.")
            number += 1
            if match:
                self._position = match.end()
                yield match.span(1)
                continue
            begin = self._position
            yield begin, self._slowly(begin)
            if self._next() != ord("]"):
                self._take(b",")
        self._position += 1

    def skip(self, start: int) -> int:
        """The end of the value that begins at ``start``."""
        self._position = start
        match = self._at_once(_QUICK)
        if match is None:
            return self._slowly(start)
        self._position = match.end()
        return self._position

    def _at_once(self, what: re.Pattern[bytes]) -> re.Match[bytes] | None:
        return what.match(self._content, self._position, self._position + _QUICK_BYTES)

    def _slowly(self, start: int) -> int:
        first = self.at(start)
        if first in _OPENING:
            self._position = self._closing(start)
        else:
            match = (_STRING if first == _QUOTE else _SCALAR).match(self._content, start)
            if match is None:
                raise _Broken(_ENDS) if first == _QUOTE else self._broken(start)
            self._position = match.end()
        return self._position

    def _closing(self, start: int) -> int:
        content, to_bracket, position, depth = self._content, _TO_BRACKET.match, start, 0
        while match := to_bracket(content, position):
            position = match.end()
            depth += 1 if content[position - 1] in _OPENING else -1
            self._brackets += 1
            if depth == 0:
                return position
            if self._brackets > MOST_BRACKETS:
                raise _Broken(f"has more than {MOST_BRACKETS // 2} objects and lists; the rest is left out.")
        raise _Broken(_ENDS)

    def _next(self) -> int | None:
        """What comes after space."""
        match = _SPACE.match(self._content, self._position)
        self._position = match.end() if match else self._position
        return self.at(self._position)

    def _take(self, mark: bytes) -> None:
        if self._next() != mark[0]:
            raise self._broken(self._position)
        self._position += 1

    def _name(self, start: int, end: int) -> str:
        try:
            name = json.loads(self._read(start, end))
        except ValueError:
            name = None
        if not isinstance(name, str):
            raise self._broken(start)
        return name

    def _broken(self, position: int) -> _Broken:
        return _Broken(_ENDS if self.at(position) is None else f"is no JSON at byte {position}.")
