"""What a program printed on a terminal: its colours as classes of the stylesheet, and every character of its text.

Of the sequences that begin with ESC only those that colour and emphasise are followed: no cursor moves, no link leads
anywhere, concealed text is shown. Colours beyond the sixteen become the nearest of them.
"""

import re
from collections.abc import Iterator

from ansi2html import Ansi2HTMLConverter
from markupsafe import Markup

from oddish.web.rendering.folding import LINES, folded
from oddish.web.rendering.visible import CHARACTERS, Rendered, clipped, visible

_SEQUENCE = re.compile(
    r"\x1b\[(?P<codes>[0-9;:]{0,100})m"
    r"|\x1b(?:\[[0-?]{0,100}[ -/]{0,10}[@-~]"
    r"|[\]PX^_][^\x07\x1b\x9c]{0,4000}(?:\x07|\x1b\\|\x9c)"
    r"|[ -/]{0,10}[0-~])"
)
_KEPT = re.compile(r"\x1b\[[0-9;]*m")
_RESET = "\x1b[0m"
_SIMPLE = frozenset((0, 1, 2, 3, 4, 7, 9, 22, 23, 24, 27, 29, *range(30, 38), 39, *range(40, 48), 49, *range(90, 98)))
_SIMPLE |= frozenset(range(100, 108))
_FOREGROUND, _BACKGROUND = 38, 48
_LEVELS = (0, 95, 135, 175, 215, 255)
_CONVERTER = Ansi2HTMLConverter(inline=False)
MOST_COLOURS = 20_000
"""Of one text that are followed: each becomes an element, and a page holds only so many."""


def terminal(text: str, most: int = CHARACTERS, lines: int = LINES) -> Rendered:
    """Preformatted, lines beyond ``lines`` folded. What was overwritten on its line is left out and marked ``␍``."""
    shown, left_out = clipped(text, most)
    written = map(_last_written, shown.replace("\r\n", "\n").split("\n"))
    coloured = _Coloured()
    printed = "".join(coloured.read("\n".join(written))).rstrip("\n").split("\n")
    head, rest = "\n".join(printed[:lines]), "\n".join(printed[lines:])
    html = _preformatted(head)
    if rest:
        html = folded(html, _preformatted(_in_force(head) + rest), len(printed) - lines)
    if coloured.is_cut:
        html += Markup('<p class="small muted">Only the first {} changes of colour are shown.</p>').format(
            f"{MOST_COLOURS:,}"
        )
    return Rendered(html, left_out)


def _preformatted(printed: str) -> Markup:
    html, _ = _CONVERTER.apply_regex(printed)
    return Markup('<pre class="terminal">\n{}</pre>').format(Markup(html))  # noqa: S704


def _in_force(printed: str) -> str:
    """The colours at its end."""
    return "".join(_KEPT.findall(printed.rpartition(_RESET)[2]))


def _last_written(line: str) -> str:
    *_, last = line.rstrip("\r").rpartition("\r")
    return f"\u240d{last}" if last != line.rstrip("\r") else last


class _Coloured:
    """A text with simple colours as its only sequences, up to ``MOST_COLOURS`` of them."""

    is_cut = False

    def read(self, text: str) -> Iterator[str]:
        end, left = 0, MOST_COLOURS
        for match in _SEQUENCE.finditer(text):
            yield visible(text[end : match.start()])
            end = match.end()
            if left > 0 and match["codes"] is not None and (codes := list(_codes(match["codes"]))):
                left -= len(codes)
                self.is_cut = left <= 0
                yield _RESET if self.is_cut else f"\x1b[{';'.join(map(str, codes))}m"
        yield visible(text[end:])


def _codes(sequence: str) -> Iterator[int]:
    fields = iter(sequence.split(";"))
    for field in fields:
        first, *inner = [int(number or 0) for number in field.split(":")]
        if first not in (_FOREGROUND, _BACKGROUND):
            if first in _SIMPLE:
                yield first
            continue
        numbers = inner or [int(number or 0) for number in _colour_fields(fields)]
        colour = _colour(numbers)
        if colour is not None:
            yield (30 if first == _FOREGROUND else 40) + colour % 8 + (60 if colour > 7 else 0)


def _colour_fields(fields: Iterator[str]) -> list[str]:
    """``5;n`` or ``2;r;g;b`` of the fields that follow."""
    form = next(fields, "")
    count = {"5": 1, "2": 3}.get(form, 0)
    return [form, *(number for _, number in zip(range(count), fields, strict=False) if number.isdigit())]


def _colour(numbers: list[int]) -> int | None:
    """The nearest of the sixteen colours."""
    match numbers:
        case [5, place] if place < 16:
            return place
        case [5, place] if place < 232:
            place -= 16
            return _nearest(_LEVELS[place // 36], _LEVELS[place // 6 % 6], _LEVELS[place % 6])
        case [5, place] if place < 256:
            return _nearest(*[8 + 10 * (place - 232)] * 3)
        case [2, *_, red, green, blue]:
            return _nearest(red, green, blue)
    return None


def _nearest(*colour: int) -> int:
    strongest = max(colour)
    hue = sum(1 << place for place, part in enumerate(colour) if 2 * part > strongest)
    if hue == 7:
        return 0 if strongest < 64 else 8 if strongest < 140 else 7 if strongest < 220 else 15
    return hue + (8 if strongest > 200 else 0)
