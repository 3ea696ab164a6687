"""Points by two values, and the frontier of those that nothing beats in both. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from oddish.web.charts.figures import BOTTOM, LEFT, RIGHT, TABLE_ROWS, TOP, Table, axes, figure, nothing
from oddish.web.charts.scales import Scale, figures
from oddish.web.charts.svg import element, joined, marker, path, series_class

NAME_LENGTH = 28


@dataclass(frozen=True, slots=True)
class Spot:
    """A finite ``x``, of which less is better, and a finite ``y``, of which more is: cost and score, for example."""

    label: str
    x: float
    y: float


def frontier(spots: Sequence[Spot]) -> list[Spot]:
    """Those to which no other is better in one and as good in the other, from the lowest x to the highest."""
    found: list[Spot] = []
    for spot in sorted(spots, key=lambda spot: (spot.x, -spot.y)):
        if not found or spot.y > found[-1].y or (spot.x, spot.y) == (found[-1].x, found[-1].y):
            found.append(spot)
    return found


def scatter(
    title: str,
    spots: Sequence[Spot],
    *,
    x_label: str,
    y_label: str,
    links: Sequence[tuple[str, str]] = (),
) -> Markup:
    """Those on the frontier are joined and named; every point says what it is under the pointer."""
    if not spots:
        return nothing(title, "No values.")
    x = Scale.over([0.0, *(spot.x for spot in spots)], LEFT, RIGHT, margin=0.05)
    y = Scale.over((spot.y for spot in spots), BOTTOM, TOP, margin=0.1)
    best = frontier(spots)
    parts = [
        axes(x, y, x_label, y_label),
        _steps([(x.at(spot.x), y.at(spot.y)) for spot in best]),
        *(_spot(spot, spot in best, (x.at(spot.x), y.at(spot.y))) for spot in spots),
    ]
    names = ", ".join(spot.label for spot in best)
    rows = [[spot.label, spot.x, spot.y, "yes" if spot in best else ""] for spot in spots[:TABLE_ROWS]]
    table = Table(["", x_label, y_label, "on the frontier"], rows, len(spots), links)
    return figure(title, f"{y_label} by {x_label}. On the frontier: {names}.", joined(parts), table=table)


def _steps(best: Sequence[tuple[float, float]]) -> Markup:
    corners = [best[0]]
    for before, at in pairwise(best):
        corners += [(at[0], before[1]), at]
    return element("path", class_="chart-frontier", d=path([*corners, (RIGHT, best[-1][1])]))


def _spot(spot: Spot, is_best: bool, at: tuple[float, float]) -> Markup:
    name = spot.label if len(spot.label) <= NAME_LENGTH else f"{spot.label[: NAME_LENGTH - 1]}…"
    right = at[0] < (LEFT + RIGHT) / 2
    parts = [element("title", f"{spot.label}: {figures(spot.x)}, {figures(spot.y)}"), marker(0 if is_best else 1, at)]
    if is_best:
        place = {"x": at[0] + (8 if right else -8), "y": at[1] - 6, "text_anchor": "start" if right else "end"}
        parts.append(element("text", name, class_="chart-name", **place))
    return element("g", *parts, class_=series_class(0 if is_best else 1))
