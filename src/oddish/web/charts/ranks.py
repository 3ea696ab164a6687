"""One row below the other, each with a name and a value: bars from zero, or dots with whiskers. Pure."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from oddish.web.charts.figures import TABLE_ROWS, WIDTH, Table, Value, figure, nothing
from oddish.web.charts.scales import Scale, figures, labels
from oddish.web.charts.svg import element, joined, marker, number, series_class

BEGIN, END = 8, WIDTH - 8
"""Where rows lie in the drawing."""
ROW, FOOT = 38, 26
MOST_ROWS = 60
NAME_LENGTH = 48


@dataclass(frozen=True, slots=True)
class Row:
    """``value`` None: there is none, and ``note`` says why."""

    label: str
    value: float | None
    interval: tuple[float, float] | None = None
    note: str = ""
    """Beside the value: what it is a rate of, for example."""


def dots(
    title: str,
    rows: Sequence[Row],
    *,
    value_label: str,
    interval_label: str,
    within: tuple[float, float] | None = None,
    show: Callable[[float], str] = figures,
    links: Sequence[tuple[str, str]] = (),
) -> Markup:
    """Values with their intervals. ``within``: what the axis spans, 0 to 1 for a rate."""
    reach = [end for row in rows for end in (row.value, *(row.interval or ())) if end is not None]
    scale = Scale.over(within or reach, BEGIN, END, margin=0 if within else 0.05)

    def drawn(row: Row, value: float, height: float) -> Iterable[Markup]:
        if row.interval is not None:
            low, high = (number(scale.at(end)) for end in row.interval)
            ends = f"M{low} {number(height - 4)}v8M{high} {number(height - 4)}v8"
            yield element("path", class_="chart-whisker", d=f"M{low} {number(height)}H{high}{ends}")
        yield marker(0, (scale.at(value), height))

    columns = [value_label, f"{interval_label}, from", "to", "note"]
    return _chart(title, rows, scale, drawn, columns, show, links)


def bars(
    title: str,
    rows: Sequence[Row],
    *,
    value_label: str,
    show: Callable[[float], str] = figures,
    links: Sequence[tuple[str, str]] = (),
) -> Markup:
    """Values from zero."""
    scale = Scale.over([0.0, *(row.value for row in rows if row.value is not None)], BEGIN, END)

    def drawn(row: Row, value: float, height: float) -> Iterable[Markup]:
        begin, end = sorted((scale.at(0.0), scale.at(value)))
        yield element("rect", class_="chart-bar", x=begin, y=height - 5.0, width=float(end - begin), height=10)

    return _chart(title, rows, scale, drawn, [value_label, "note"], show, links)


def _chart(
    title: str,
    rows: Sequence[Row],
    scale: Scale,
    drawn: Callable[[Row, float, float], Iterable[Markup]],
    columns: Sequence[str],
    show: Callable[[float], str],
    links: Sequence[tuple[str, str]],
) -> Markup:
    if not rows:
        return nothing(title, "No values.")
    shown = rows[:MOST_ROWS]
    foot = len(shown) * ROW
    description = " ".join(f"{row.label}: {_value(row, show)}." for row in shown)
    table = Table(["", *columns], [_cells(row, columns) for row in rows[:TABLE_ROWS]], len(rows), links)
    parts = [
        _axis(scale, foot, show),
        *(_row(row, position * ROW, drawn, show) for position, row in enumerate(shown)),
    ]
    return figure(title, f"{columns[0]}. {description}", joined(parts), height=foot + FOOT, table=table)


def _axis(scale: Scale, foot: float, show: Callable[[float], str]) -> Markup:
    ticks = scale.ticks(5)
    texts = labels(ticks) if show is figures else list(map(show, ticks))
    parts = []
    for tick, text in zip(ticks, texts, strict=True):
        at = scale.at(tick)
        parts.append(element("path", class_="chart-grid", d=f"M{number(at)} 0V{number(foot)}"))
        anchor = "start" if at < BEGIN + 12 else "end" if at > END - 12 else "middle"
        parts.append(element("text", text, class_="chart-tick", x=at, y=foot + 16.0, text_anchor=anchor))
    return element("g", *parts, class_="chart-axes", aria_hidden="true")


def _row(
    row: Row, top: float, drawn: Callable[[Row, float, float], Iterable[Markup]], show: Callable[[float], str]
) -> Markup:
    name = row.label if len(row.label) <= NAME_LENGTH else f"{row.label[: NAME_LENGTH - 1]}…"
    parts: list[Markup] = [
        element("title", f"{row.label}: {_value(row, show)}"),
        element("text", name, class_="chart-name", x=BEGIN, y=top + 14),
        element("text", _value(row, show), class_="chart-value", x=END, y=top + 14),
    ]
    if row.value is not None:
        parts += drawn(row, row.value, top + 26)
    return element("g", *parts, class_=series_class(0))


def _value(row: Row, show: Callable[[float], str]) -> str:
    value = "–" if row.value is None or not math.isfinite(row.value) else show(row.value)
    return f"{value} {row.note}".strip()


def _cells(row: Row, columns: Sequence[str]) -> list[Value]:
    interval: tuple[Value, Value] = row.interval or (None, None)
    return [row.label, row.value, *(interval if len(columns) > 2 else ()), row.note]
