"""Lines over a common x: one series or several, with bands, gaps and marked places. Pure."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from oddish.web.charts.figures import (
    BOTTOM,
    LEFT,
    RIGHT,
    TABLE_ROWS,
    TOP,
    Table,
    Value,
    axes,
    figure,
    key,
    legend,
    nothing,
)
from oddish.web.charts.scales import Scale, figures
from oddish.web.charts.svg import Point, area, element, joined, marker, number, path, series_class
from oddish.web.charts.thinning import Columns, Course, Edge

COLUMNS = RIGHT - LEFT
"""One for each unit of the drawing."""
MARKED = 24
"""Points of a line up to which each has a marker."""
_MARGIN = 0.05
_RUG = 7


@dataclass(frozen=True, slots=True)
class Series:
    """Values by x, in any number; NaN where there is none."""

    label: str
    course: Course
    """Of their x."""
    ys: Sequence[float]
    spread: Sequence[float] | None = None
    """How far a band around the line reaches on either side of each value."""
    marks: Sequence[float] = ()
    """x of places that are marked at the foot of the chart."""


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A series with the points of it that are drawn."""

    series: Series
    lines: list[list[Point]]
    bands: list[list[Edge]]

    @property
    def points(self) -> list[Point]:
        return [point for line in self.lines for point in line]


def line_chart(
    title: str,
    series: Sequence[Series],
    *,
    x_label: str,
    y_label: str = "",
    band_label: str = "",
    marks_label: str = "",
    links: Sequence[tuple[str, str]] = (),
) -> Markup:
    """All of ``series`` in one drawing; what the bands and marks are is said in the legend. ``links``: of the data."""
    x = Scale.over((end for each in series for end in each.course.ends), LEFT, RIGHT)
    columns = Columns(x.low, x.high, COLUMNS)
    drawn = [_draw(each, columns) for each in series]
    if not any(each.lines for each in drawn):
        return nothing(title, "No values.")
    y = Scale.over(_reach(drawn), BOTTOM, TOP, margin=_MARGIN)
    drawing = joined(
        [
            axes(x, y, x_label, y_label),
            *(_series(position, each, x, y) for position, each in enumerate(drawn)),
            element("path", class_="chart-cursor", d=f"M0 {TOP}V{BOTTOM}"),
        ]
    )
    description = " ".join([f"{y_label or title} by {x_label}.", *map(_said, drawn)])
    return figure(
        title,
        description,
        drawing,
        table=_table(series, x_label, links),
        legend=legend([each.label for each in series], _keys(drawn, band_label, marks_label)),
        data_x=json.dumps([x.low, x.high, LEFT, RIGHT]),
        data_label=x_label,
    )


def _draw(series: Series, columns: Columns) -> _Drawn:
    lines = series.course.lines(series.ys, columns)
    bands = [] if series.spread is None else series.course.bands(series.ys, series.spread, columns)
    return _Drawn(series, lines, bands)


def _reach(drawn: Sequence[_Drawn]) -> Iterator[float]:
    """The lowest and the highest of what is drawn."""
    for each in drawn:
        if each.lines:
            _, ys = zip(*each.points, strict=True)
            yield from (min(ys), max(ys))
        for band in each.bands:
            _, lows, highs = zip(*band, strict=True)
            yield from (min(*lows, *highs), max(*lows, *highs))


def _series(position: int, drawn: _Drawn, x: Scale, y: Scale) -> Markup:
    at = [_placed(line, x, y) for line in drawn.lines]
    parts = [
        element(
            "path",
            class_="chart-band",
            d=area(_placed([(a, high) for a, _, high in band], x, y), _placed([(a, low) for a, low, _ in band], x, y)),
        )
        for band in drawn.bands
        if len(band) > 1
    ]
    if d := "".join(path(points) for points in at if len(points) > 1):
        parts.append(element("path", class_="chart-line", d=d))
    is_sparse = sum(map(len, at)) <= MARKED
    parts += [marker(position, point) for points in at if is_sparse or len(points) == 1 for point in points]
    if d := _rug(drawn.series.marks, x, BOTTOM - _RUG * (position + 1)):
        parts.append(element("path", class_="chart-mark", d=d))
    told = ", ".join(f"[{a!r}, {b:.6g}]" for a, b in drawn.points)
    return element("g", *parts, class_=series_class(position), data_label=drawn.series.label, data_points=f"[{told}]")


def _placed(points: Sequence[Point], x: Scale, y: Scale) -> list[Point]:
    return list(zip(x.along([a for a, _ in points]), y.along([b for _, b in points]), strict=True))


def _rug(marks: Sequence[float], x: Scale, height: float) -> str:
    """Where there are marks, places next to each other as one piece."""
    pieces: list[list[float]] = []
    for place in sorted(set(map(round, x.along([value for value in marks if x.low <= value <= x.high])))):
        if pieces and place <= pieces[-1][1] + 1:
            pieces[-1][1] = place
        else:
            pieces.append([place, place])
    return "".join(f"M{number(begin - 1)} {number(height)}h{number(end - begin + 2)}" for begin, end in pieces)


def _keys(drawn: Sequence[_Drawn], band_label: str, marks_label: str) -> list[Markup]:
    keys = []
    if band_label and any(each.bands for each in drawn):
        sample = element("path", class_="chart-band", d="M0 1H28V9H0Z")
        keys.append(element("li", key(sample), element("span", band_label), class_=series_class(0)))
    if marks_label and any(each.series.marks for each in drawn):
        sample = element("path", class_="chart-mark", d="M2 5h10M18 5h8")
        keys.append(element("li", key(sample), element("span", marks_label), class_=series_class(0)))
    return keys


def _said(drawn: _Drawn) -> str:
    if not drawn.lines:
        return f"{drawn.series.label}: no values."
    xs, ys = zip(*drawn.points, strict=True)
    return (
        f"{drawn.series.label}: from {figures(min(xs))} to {figures(max(xs))}, lowest {figures(min(ys))}, "
        f"highest {figures(max(ys))}, last {figures(ys[-1])}."
    )


def _table(series: Sequence[Series], x_label: str, links: Sequence[tuple[str, str]]) -> Table:
    """The last rows, one for each x; of values with the same x the last."""
    rows: dict[float, dict[int, float]] = {}
    for position, each in enumerate(series):
        for x, y in zip(each.course.given[-TABLE_ROWS:], each.ys[-TABLE_ROWS:], strict=True):
            if not math.isnan(x):
                rows.setdefault(x, {})[position] = y
    shown: list[list[Value]] = [
        [x, *(rows[x].get(position) for position in range(len(series)))] for x in sorted(rows)[-TABLE_ROWS:]
    ]
    of = max(len(shown), *(len(each.ys) for each in series))
    return Table([x_label, *(each.label for each in series)], shown, of, links)
