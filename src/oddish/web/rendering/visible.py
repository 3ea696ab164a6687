"""Characters that are not seen are written out: they can hide text, or show it in another order than it has. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from markupsafe import Markup

CHARACTERS = 30_000
"""Of one text that are shown."""

_CONTROL: tuple[tuple[int, int], ...] = ((0x00, 0x08), (0x0B, 0x1F), (0x7F, 0x9F))
_UNSEEN: tuple[tuple[int, int], ...] = (
    *((code, code) for code in (0xAD, 0x34F, 0x61C, 0x180E, 0x200B, 0x3164, 0xFEFF, 0xFFA0)),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x200E, 0x200F),
    (0x2028, 0x202E),
    (0x2060, 0x206F),
    (0xFFF0, 0xFFFB),
)
"""Directions, joints that are no part of an emoji or a letter, fillers and separators."""
_TAGS = ((0xE0000, 0xE0FFF),)


@dataclass(frozen=True, slots=True)
class Rendered:
    """Markup of a text, and how many characters at its end were left out."""

    html: Markup
    left_out: int = 0

    def __html__(self) -> str:
        return str(self.html)


def visible(text: str) -> str:
    """With pictures of control characters, and names of others that are not seen: ``␛``, ``[U+202E]``."""
    return text if text.isascii() and text.isprintable() else text.replace("\r\n", "\n").translate(_NAMES)


def clipped(text: str, most: int) -> tuple[str, int]:
    """The beginning of a text, and how many characters of it are left out."""
    return text[:most], max(len(text) - most, 0)


def _named(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"[U+{code:04X}]"


def _names(spans: Iterable[tuple[int, int]]) -> Mapping[int, str]:
    return {code: _named(code) for first, last in spans for code in range(first, last + 1)}


_NAMES = _names((*_CONTROL, *_UNSEEN, *_TAGS))
