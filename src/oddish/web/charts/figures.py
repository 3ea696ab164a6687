"""What all charts have around them: the figure, its names for those who do not see it, legend and table. Pure."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from oddish.web.charts.scales import Scale, figures, labels
from oddish.web.charts.svg import element, joined, marker, number, series_class

WIDTH, HEIGHT = 560, 220
LEFT, TOP, RIGHT, BOTTOM = 62, 10, 548, 184
"""Where the plot lies in the drawing."""
TABLE_ROWS = 100
"""That a table beside a chart has at most."""

type Value = float | str | None


@dataclass(frozen=True, slots=True)
class Table:
    """The data of a chart. ``rows`` may be less than there are, which are ``of``."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Value]]
    of: int
    links: Sequence[tuple[str, str]] = ()
    """Name and address of all of it, as CSV or JSON."""


def figure(
    title: str,
    description: str,
    drawing: Markup,
    *,
    table: Table,
    height: float = HEIGHT,
    legend: Markup | str = "",
    **data: object,
) -> Markup:
    """``drawing`` with everything around it. ``data``: attributes of the drawing that scripts read."""
    svg = element(
        "svg",
        element("title", title),
        element("desc", description),
        drawing,
        class_="chart-drawing",
        role="img",
        view_box=f"0 0 {WIDTH} {number(height)}",
        **data,
    )
    return element("figure", element("figcaption", title), legend, svg, _details(title, table), class_="chart")


def nothing(title: str, words: str) -> Markup:
    """A figure in the place of a chart that has no data."""
    return element("figure", element("figcaption", title), element("p", words, class_="chart-empty"), class_="chart")


def legend(names: Sequence[str], extra: Iterable[Markup] = ()) -> Markup:
    """The series in their order; nothing for a single one without more to explain."""
    more = list(extra)
    if len(names) < 2 and not more:
        return Markup("")
    entries = [
        element(
            "li",
            key(element("path", class_="chart-line", d="M0 5H28"), marker(series, (14, 5))),
            element("span", name),
            class_=series_class(series),
        )
        for series, name in enumerate(names if len(names) > 1 else ())
    ]
    return element("ul", *entries, *more, class_="chart-legend")


def key(*drawing: Markup) -> Markup:
    """A sample of how something is drawn."""
    return element("svg", *drawing, class_="chart-key", view_box="0 0 28 10", aria_hidden="true")


def axes(x: Scale, y: Scale, x_label: str, y_label: str) -> Markup:
    """Grid, ticks and their numbers; what they count is said below and above."""
    across, up = x.ticks(5), y.ticks(4)
    parts = [
        *(element("path", class_="chart-grid", d=f"M{LEFT} {number(y.at(tick))}H{RIGHT}") for tick in up),
        element("path", class_="chart-axis", d=f"M{LEFT} {BOTTOM}H{RIGHT}"),
        *(
            element("text", text, class_="chart-tick chart-tick-y", x=LEFT - 8, y=y.at(tick))
            for tick, text in zip(up, labels(up), strict=True)
        ),
        *(
            element("text", text, class_="chart-tick chart-tick-x", x=x.at(tick), y=BOTTOM + 16)
            for tick, text in zip(across, labels(across), strict=True)
        ),
        element("text", x_label, class_="chart-label chart-label-x", x=RIGHT, y=HEIGHT - 6),
    ]
    if y_label:
        parts.append(element("text", y_label, class_="chart-label chart-label-y", x=LEFT, y=TOP))
    return element("g", *parts, class_="chart-axes", aria_hidden="true")


def _details(title: str, table: Table) -> Markup:
    said = f"{table.of:,} rows" if len(table.rows) == table.of else f"{len(table.rows):,} of {table.of:,} rows"
    head = element("tr", *(element("th", name, scope="col") for name in table.columns))
    body = joined(map(_row, table.rows))
    links = Markup(" ").join(element("a", name, href=address) for name, address in table.links)
    return element(
        "details",
        element("summary", f"Data: {said}"),
        element("p", links, class_="chart-links") if table.links else "",
        element(
            "div",
            element("table", element("thead", head), element("tbody", body)),
            class_="chart-table",
            role="region",
            aria_label=f"Data of {title}",
            tabindex=0,
        ),
        class_="chart-data",
    )


def _row(values: Sequence[Value]) -> Markup:
    """Joined as one: an element for each cell takes ten times as long."""
    return Markup("<tr><td>{}</td></tr>").format(Markup("</td><td>").join(map(_cell, values)))


def _cell(value: Value) -> str:
    if isinstance(value, str):
        return value
    return "–" if value is None or not math.isfinite(value) else figures(value)
