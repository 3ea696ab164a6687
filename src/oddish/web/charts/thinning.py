"""Of many points those that show in a drawing: of each column the ends, the lowest and the highest. Pure."""

import math
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from operator import gt
from typing import Self

from oddish.web.charts.scales import LARGEST

MOST_STRETCHES = 8
"""A series that goes back more often is drawn in the order of its x."""
WHOLE = 4
"""Points of a column that all stay."""


@dataclass(frozen=True, slots=True)
class Columns:
    """``count`` of them, as wide as each other, from ``low`` to ``high``, which is more."""

    low: float
    high: float
    count: int

    def split(self, xs: Sequence[float], begin: int, end: int) -> Iterator[tuple[int, int]]:
        """Where the columns that hold anything begin and end in ``xs``, which does not fall between these indices."""
        width = (self.high - self.low) / self.count
        while begin < end:
            column = math.floor((xs[begin] - self.low) / width)
            after = max(begin + 1, bisect_left(xs, self.low + (column + 1) * width, begin, end))
            yield begin, after
            begin = after


@dataclass(frozen=True, slots=True)
class Course:
    """The points of a series that can be drawn, in the order in which they are. A y of NaN is a gap."""

    xs: Sequence[float]
    ys: Sequence[float]
    backs: tuple[int, ...]
    """Where x falls."""
    order: Sequence[int] | None
    """The place of each point in the series; None where all are in theirs."""

    @classmethod
    def of(cls, xs: Sequence[float], ys: Sequence[float]) -> Self:
        """Of a series with gaps, and with x that need not be there, or in order."""
        order: list[int] | None = None
        if not _drawable(xs):
            order = [index for index, x in enumerate(xs) if abs(x) <= LARGEST]
            xs = _pick(xs, order)
        backs = _falls(xs)
        if len(backs) > MOST_STRETCHES:
            by_x = sorted(range(len(xs)), key=xs.__getitem__)
            order = by_x if order is None else [order[index] for index in by_x]
            xs, backs = _pick(xs, by_x), ()
        course = cls(xs, (), backs, order)
        return cls(xs, course.follow(ys), backs, order)

    def follow(self, values: Sequence[float]) -> Sequence[float]:
        """Other values of the same series, at the points that can be drawn."""
        picked = values if self.order is None else _pick(values, self.order)
        return picked if _drawable(picked) else array("d", (_or_gap(value) for value in picked))

    def stretches(self) -> Iterator[tuple[int, int]]:
        """Where x does not fall: pairs of the first index and the one after the last."""
        return pairwise((0, *self.backs, len(self.xs)))

    def lines(self, columns: Columns) -> list[list[int]]:
        """Indices of the points to join, for each line its own.

        A line ends at a gap as wide as a column, and where x falls. Of a column with many points the first, the lowest,
        the highest and the last stay.
        """
        found: list[list[int]] = []
        for begin, end in self.stretches():
            goes_on = False
            for first, after in columns.split(self.xs, begin, end):
                inside = _telling(self.ys, first, after)
                if inside and goes_on:
                    found[-1] += inside
                elif inside:
                    found.append(inside)
                goes_on = bool(inside)
        return found

    def bands(
        self, lows: Sequence[float], highs: Sequence[float], columns: Columns
    ) -> list[list[tuple[float, float, float]]]:
        """x, the lowest of ``lows`` and the highest of ``highs`` from there on, for each band without a gap its own."""
        lows, highs = self.follow(lows), self.follow(highs)
        found: list[list[tuple[float, float, float]]] = []
        for begin, end in self.stretches():
            goes_on = False
            for first, after in columns.split(self.xs, begin, end):
                held = [index for index in range(first, after) if not math.isnan(lows[index] + highs[index])]
                parts = [held] if len(held) > WHOLE else [[index] for index in held]
                edges = [
                    (self.xs[part[0]], min(lows[index] for index in part), max(highs[index] for index in part))
                    for part in parts
                ]
                if len(held) > WHOLE:
                    edges.append((self.xs[held[-1]], *edges[0][1:]))
                if edges and goes_on:
                    found[-1] += edges
                elif edges:
                    found.append(edges)
                goes_on = bool(edges)
        return found


def _telling(ys: Sequence[float], first: int, after: int) -> list[int]:
    values = ys[first:after]
    indices: Sequence[int] = range(first, after)
    if math.isnan(sum(values)):
        indices = [index for index in indices if not math.isnan(ys[index])]
        values = [ys[index] for index in indices]
    if len(indices) <= WHOLE:
        return list(indices)
    lowest, highest = indices[values.index(min(values))], indices[values.index(max(values))]
    return sorted({indices[0], lowest, highest, indices[-1]})


def _falls(xs: Sequence[float]) -> tuple[int, ...]:
    if not any(map(gt, xs, islice(xs, 1, None))):
        return ()
    return tuple(index for index, (before, x) in enumerate(pairwise(xs), start=1) if x < before)


def _drawable(values: Sequence[float]) -> bool:
    """Whether all are numbers that a drawing can hold."""
    return not values or (not math.isnan(sum(values)) and min(values) >= -LARGEST and max(values) <= LARGEST)


def _or_gap(value: float) -> float:
    return value if abs(value) <= LARGEST else math.nan


def _pick(values: Sequence[float], order: Sequence[int]) -> "array[float]":
    return array("d", (values[index] for index in order))
