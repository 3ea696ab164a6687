"""The table, as Markdown, so that it can be pasted into docs/performance.md."""

from collections.abc import Iterable, Mapping, Sequence

from bench.figures import Figures, shown, statistic, verdict
from bench.rows import ROWS, Row

HEADINGS = ("row", "ours", "peer", "ratio", "target", "met")


def markdown(headings: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Aligned, so that it can also be read as it is."""
    cells = [list(headings), *(list(line) for line in lines)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(headings))]
    head, *body = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in cells
    ]
    return "\n".join((head, "|" + "|".join("-" * (width + 2) for width in widths) + "|", *body))


def table(measured: Mapping[str, Figures]) -> str:
    """The rows that were measured, in their order, with what has to be said beside them."""
    rows = [row for row in ROWS if row.name in measured]
    lines = [line for row in rows for line in remarks(row, measured[row.name])]
    return "\n".join((markdown(HEADINGS, (cells(row, measured[row.name]) for row in rows)), "", *lines))


def cells(row: Row, figures: Figures) -> tuple[str, ...]:
    """One line of the table."""
    said = verdict(row, figures)
    ours = "-" if said.ours is None else shown(said.ours, row.unit)
    if said.ours is not None:
        ours = ", ".join((ours, *(f"{figures.further[name]:g} {name}" for name in row.most)))
    return (
        row.name,
        ours,
        "-" if said.peer is None else shown(said.peer, row.unit),
        "-" if said.ratio is None else f"{said.ratio:.2f}x",
        row.target,
        {True: "yes", False: "NO", None: "-"}[said.met],
    )


def remarks(row: Row, figures: Figures) -> list[str]:
    """What is missing and why, further figures, and the parts of the row."""
    lines = [f"{row.name}: {figures.missing}"] if figures.missing else []
    lines += [f"{row.name}: {note}" for note in figures.notes]
    lines += [f"{row.name}: {name} {value:g}" for name, value in figures.further.items() if name not in row.most]
    for name, samples in {"ours": figures.ours, "peer": figures.peer, **figures.details}.items():
        if samples:
            spread = ", ".join(f"{mark} {shown(statistic(samples, mark), row.unit)}" for mark in ("p50", "p95", "p99"))
            lines.append(f"{row.name}: {name}: {spread} of {len(samples)}")
    return lines
