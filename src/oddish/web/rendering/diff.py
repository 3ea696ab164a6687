"""What an edit changed, line by line."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Literal

from markupsafe import Markup

from oddish.viewer.alignment import align
from oddish.web.rendering.visible import CHARACTERS, Rendered, clipped, visible

COMPARED = 400
"""Lines of each text that are compared with each of the other, after what both begin and end with."""
CONTEXT = 3
"""Lines that stay the same and are shown beside a change."""

type Change = Literal["same", "removed", "added"]

_SIGNS: dict[Change, str] = {"same": " ", "removed": "−", "added": "+"}


def diff(old: str, new: str, most: int = CHARACTERS) -> Rendered:
    """Each line with its sign; long runs that stay the same are counted."""
    (before, left_out), (after, also) = clipped(old, most), clipped(new, most)
    lines = _changes(visible(before).splitlines(), visible(after).splitlines())
    return Rendered(Markup('<pre class="diff">\n{}</pre>').format(Markup("").join(_shown(lines))), left_out + also)


def _changes(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[Change, str]]:
    for before, after in align(old, new, COMPARED):
        if before is None and after is not None:
            yield "added", new[after]
        elif before is not None:
            yield ("removed" if after is None else "same"), old[before]


def _shown(lines: Iterable[tuple[Change, str]]) -> Iterator[Markup]:
    runs = [(change, [line for _, line in run]) for change, run in groupby(lines, key=lambda entry: entry[0])]
    for place, (change, run) in enumerate(runs):
        above = CONTEXT if place > 0 else 0
        below = CONTEXT if place < len(runs) - 1 else 0
        hidden = len(run) - above - below
        if change != "same" or hidden <= 1:
            yield _lines(change, run)
            continue
        yield _lines(change, run[:above])
        yield Markup('<span class="same">⋯ {} lines\n</span>').format(f"{hidden:,}")
        yield _lines(change, run[len(run) - below :])


def _lines(change: Change, lines: Sequence[str]) -> Markup:
    """Joined as one: to fill in each line for itself takes five times as long."""
    tag = {"same": "span", "removed": "del", "added": "ins"}[change]
    begin, end = Markup(f'<{tag} class="{change}">{_SIGNS[change]}'), Markup(f"\n</{tag}>")  # noqa: S704
    inner = (end + begin).join(lines)
    return begin + inner + end if lines else Markup("")
