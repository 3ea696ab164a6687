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
from oddish.web.charts.svg import area, element, joined, marker, number, path, series_class
from oddish.web.charts.thinning import Columns, Course

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
    xs: Sequence[float]
    ys: Sequence[float]
    band: tuple[Sequence[float], Sequence[float]] | None = None
    """From where to where each value reaches."""
    marks: Sequence[float] = ()
    """x of places that are marked at the foot of the chart."""


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A series with the points of it that are drawn."""

    series: Series
    course: Course
    lines: list[list[int]]
    bands: list[list[tuple[float, float, float]]]

    @property
    def xs(self) -> list[float]:
        return [self.course.xs[index] for line in self.lines for index in line]

    @property
    def ys(self) -> list[float]:
        return [self.course.ys[index] for line in self.lines for index in line]


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
    courses = [Course.of(each.xs, each.ys) for each in series]
    held = [x for course in courses for x in (min(course.xs, default=math.nan), max(course.xs, default=math.nan))]
    x = Scale.over((value for value in held if not math.isnan(value)), LEFT, RIGHT)
    columns = Columns(x.low, x.high, COLUMNS)
    drawn = [_draw(each, course, columns) for each, course in zip(series, courses, strict=True)]
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


def _draw(series: Series, course: Course, columns: Columns) -> _Drawn:
    bands = course.bands(*series.band, columns) if series.band else []
    return _Drawn(series, course, course.lines(columns), bands)


def _reach(drawn: Sequence[_Drawn]) -> Iterator[float]:
    for each in drawn:
        yield from each.ys
        for band in each.bands:
            for _, low, high in band:
                yield low
                yield high


def _series(position: int, drawn: _Drawn, x: Scale, y: Scale) -> Markup:
    course = drawn.course
    at = [[(x.at(course.xs[index]), y.at(course.ys[index])) for index in line] for line in drawn.lines]
    parts = [
        element(
            "path",
            class_="chart-band",
            d=area([(x.at(a), y.at(high)) for a, _, high in band], [(x.at(a), y.at(low)) for a, low, _ in band]),
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
    told = [[course.xs[index], float(f"{course.ys[index]:.6g}")] for line in drawn.lines for index in line]
    return element(
        "g", *parts, class_=series_class(position), data_label=drawn.series.label, data_points=json.dumps(told)
    )


def _rug(marks: Sequence[float], x: Scale, height: float) -> str:
    """Where there are marks, places next to each other as one piece."""
    pieces: list[list[float]] = []
    for place in sorted({round(x.at(value)) for value in marks if x.low <= value <= x.high}):
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
    xs, ys = drawn.xs, drawn.ys
    return (
        f"{drawn.series.label}: from {figures(min(xs))} to {figures(max(xs))}, lowest {figures(min(ys))}, "
        f"highest {figures(max(ys))}, last {figures(ys[-1])}."
    )


def _table(series: Sequence[Series], x_label: str, links: Sequence[tuple[str, str]]) -> Table:
    """The last rows, one for each x; of values with the same x the last."""
    rows: dict[float, dict[int, float]] = {}
    for position, each in enumerate(series):
        for x, y in zip(each.xs[-TABLE_ROWS:], each.ys[-TABLE_ROWS:], strict=True):
            if not math.isnan(x):
                rows.setdefault(x, {})[position] = y
    shown: list[list[Value]] = [
        [x, *(rows[x].get(position) for position in range(len(series)))] for x in sorted(rows)[-TABLE_ROWS:]
    ]
    of = max(len(shown), *(len(each.xs) for each in series))
    return Table([x_label, *(each.label for each in series)], shown, of, links)
