"""Tables for people who run a test with ``-s``."""

import sys
from collections.abc import Iterable, Sequence


def show(title: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table of fixed width; a ``None`` is a dash."""
    cells = [list(headings), *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headings))]
    cells.insert(1, ["-" * width for width in widths])
    lines = [" | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    sys.stdout.write("\n".join(["", title, "", *lines, ""]))


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, tuple | list):
        return ", ".join(map(_cell, value)) or "-"
    return f"{value:g}" if isinstance(value, float) else str(value)
