"""How a text can be written in JSON, in any case of its letters: bytes that tell messages without it apart. Pure.

A message is looked at as it is in its file, ASCII in lower case, without being parsed: most do not have the text.
"""

import json
import re
from functools import lru_cache

type Signs = tuple[bytes, ...]
"""A message with the text has one of them."""

_LAST_CASED = 0x1E943
"""No character after this one has another case."""
_PLAIN = re.compile(r"[A-Za-z0-9 _.:;,=+*()-]+")
"""What all who write JSON write as it is."""
_RUN = re.compile(r"[A-Za-z0-9 _.:;,=+*()\x80-\U0010ffff-]+")
_ODD = "\u0130\u0131\ufffd"
"""Kinds of i, which match it without being another case of it, and what stands for bytes that are no character."""
_MOST_SIGNS = 3
_ESCAPE = len(r"\u0000")


class Spellings:
    """Of a text that is looked for."""

    def __init__(self, wanted: str) -> None:
        plain = max(_PLAIN.findall(wanted), key=len, default="")
        others = [char for char in dict.fromkeys(wanted) if not char.isascii() and char not in _ODD]
        self._signs: list[Signs] = [(plain.lower().encode(),)] if plain else []
        self._signs += [tuple(map(_without_first_half, spellings(char))) for char in others[:_MOST_SIGNS]]
        self._run: re.Pattern[bytes] | None = None
        if others and not set(wanted) & set(_ODD):
            longest = max(_RUN.findall(wanted), key=len)
            self._run = re.compile(b"".join(map(_pattern, longest)))

    def may_be_in(self, raw: bytes) -> bool:
        """False only where a message, as it is written, cannot have the text."""
        lower = raw.lower()
        return all(any(sign in lower for sign in signs) for signs in self._signs) and (
            self._run is None or self._run.search(lower) is not None
        )


def _pattern(char: str) -> bytes:
    """Whatever number of backslashes: arguments of a tool may be JSON in a text of JSON."""
    if char.isascii():
        return re.escape(char.lower().encode())
    return b"(?:" + b"|".join(re.escape(sign).replace(rb"\\u", rb"\\+u") for sign in spellings(char)) + b")"


def _without_first_half(sign: bytes) -> bytes:
    """Of an escape in two halves the last: between them may be more than one backslash."""
    return sign[-_ESCAPE:] if sign.startswith(b"\\u") else sign


def spellings(char: str) -> Signs:
    """A character in each of its cases, as it is and as an escape."""
    cases = _cases().get(_key(char), (char,))
    written = (sign for case in cases for sign in (case.encode(errors="replace"), _escaped(case)))
    return tuple(dict.fromkeys(sign.lower() for sign in written))


def _escaped(char: str) -> bytes:
    return json.dumps(char)[1:-1].encode()


def _key(char: str) -> str:
    return char.lower().upper()


@lru_cache(maxsize=1)
def _cases() -> dict[str, tuple[str, ...]]:
    """Characters that are other cases of one another, by what they have in common."""
    found: dict[str, list[str]] = {}
    for code in range(_LAST_CASED + 1):
        char = chr(code)
        if char.lower() != char or char.upper() != char:
            found.setdefault(_key(char), []).append(char)
    return {key: tuple(chars) for key, chars in found.items()}
