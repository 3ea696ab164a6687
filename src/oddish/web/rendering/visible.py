"""Characters that are not seen are written out: they can hide text, or show it in another order than it has. Pure."""

import re
from dataclasses import dataclass

from markupsafe import Markup

CHARACTERS = 30_000
"""Of one text that are shown."""

_CONTROL = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
_UNSEEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
)
"""Directions, joints that are no part of an emoji or a letter, fillers and separators."""
_TAGS = "\U000e0000-\U000e0fff"
_HIDDEN = re.compile(f"[{_CONTROL}{_UNSEEN}{_TAGS}\r]")


@dataclass(frozen=True, slots=True)
class Rendered:
    """Markup of a text, and how many characters at its end were left out."""

    html: Markup
    left_out: int = 0

    def __html__(self) -> str:
        return str(self.html)


def visible(text: str) -> str:
    """With pictures of control characters, and names of others that are not seen: ``␛``, ``[U+202E]``."""
    return text if text.isascii() and text.isprintable() else _HIDDEN.sub(_named, text.replace("\r\n", "\n"))


def clipped(text: str, most: int) -> tuple[str, int]:
    """The beginning of a text, and how many characters of it are left out."""
    return text[:most], max(len(text) - most, 0)


def _named(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"[U+{code:04X}]"
