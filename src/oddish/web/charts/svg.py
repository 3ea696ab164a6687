"""Elements of SVG and HTML as text in which everything that was given is escaped. Pure."""

from collections.abc import Iterable

from markupsafe import Markup, escape

type Point = tuple[float, float]

MARKERS = (
    "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0Z",
    "M-3 -3H3V3H-3Z",
    "M0 -4L4 3H-4Z",
    "M0 -4.5L4.5 0L0 4.5L-4.5 0Z",
    "M-3.5 -3.5L3.5 3.5M3.5 -3.5L-3.5 3.5",
    "M0 -4V4M-4 0H4",
)
"""Shapes around the origin, one for each of the series that can be told apart."""


def element(name: str, *children: Markup | str, **attributes: object) -> Markup:
    """``class_`` is the attribute class, ``view_box`` viewBox, and ``data_x`` data-x; None is left out."""
    given = "".join(
        f' {_name(key)}="{escape(number(value) if isinstance(value, float) else value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{given}>{joined(children)}</{name}>")  # noqa: S704 - names are of this package


def joined(parts: Iterable[Markup | str]) -> Markup:
    return Markup("").join(parts)


def number(value: float) -> str:
    """A place in a drawing, to a tenth."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def path(points: Iterable[Point]) -> str:
    """Through the points by straight lines."""
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)


def area(upper: Iterable[Point], lower: Iterable[Point]) -> str:
    """Between two lines that both run from left to right."""
    return path([*upper, *reversed(list(lower))]) + "Z"


def marker(series: int, at: Point) -> Markup:
    """The shape of a series, counted from 0, at a place."""
    shape = MARKERS[series % len(MARKERS)]
    return element("path", class_="chart-marker", d=shape, transform=f"translate({number(at[0])} {number(at[1])})")


def series_class(series: int) -> str:
    """By which the stylesheet gives a series, counted from 0, its colour and its dash."""
    return f"chart-series chart-series-{series % len(MARKERS) + 1}"


def _name(key: str) -> str:
    return "viewBox" if key == "view_box" else key.rstrip("_").replace("_", "-")
