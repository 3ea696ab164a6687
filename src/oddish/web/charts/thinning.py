"""Of many points those that show in a drawing: of each column the ends, the lowest and the highest. Pure."""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from operator import add, gt, sub
from typing import Self

from oddish.web.charts.scales import LARGEST
from oddish.web.charts.svg import Point

type Edge = tuple[float, float, float]

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
    """The x of series that can be drawn, in the order in which they are."""

    given: Sequence[float]
    """All of them, in the order of the series."""
    xs: Sequence[float]
    backs: tuple[int, ...]
    """Where x falls."""
    order: Sequence[int] | None
    """The place of each x in the series; None where all are in theirs."""
    ends: Sequence[float]
    """The lowest and the highest x; neither where there is none."""

    @classmethod
    def of(cls, given: Sequence[float]) -> Self:
        """Of x that need not be there, or in order. Series with the same x can share it."""
        order: list[int] | None = None
        xs = given
        if not _drawable(xs):
            order = [index for index, x in enumerate(xs) if abs(x) <= LARGEST]
            xs = [xs[index] for index in order]
        backs = _falls(xs)
        if len(backs) > MOST_STRETCHES:
            by_x = sorted(range(len(xs)), key=xs.__getitem__)
            order = by_x if order is None else [order[index] for index in by_x]
            xs, backs = [xs[index] for index in by_x], ()
        return cls(given, xs, backs, order, (min(xs), max(xs)) if xs else ())

    def follow(self, values: Sequence[float]) -> Sequence[float]:
        """Those of a series, one for each x that can be drawn."""
        return values if self.order is None else [values[index] for index in self.order]

    def stretches(self) -> Iterator[tuple[int, int]]:
        """Where x does not fall: pairs of the first index and the one after the last."""
        return pairwise((0, *self.backs, len(self.xs)))

    def lines(self, values: Sequence[float], columns: Columns) -> list[list[Point]]:
        """The points of a series to join, for each line its own. A value of NaN, or too large to draw, is a gap.

        A line ends at a gap as wide as a column, and where x falls. Of a column with many points the first, the lowest,
        the highest and the last stay.
        """
        ys = self.follow(values)
        return self._pieces(columns, lambda first, after: _telling(self.xs, ys, first, after))

    def bands(self, values: Sequence[float], spreads: Sequence[float], columns: Columns) -> list[list[Edge]]:
        """x, the lowest and the highest that the spread around each value reaches, for each band without a gap its own.

        Of a column with many points the lowest and the highest of all stand at the first and the last.
        """
        ys, around = self.follow(values), self.follow(spreads)
        return self._pieces(columns, lambda first, after: _edges(self.xs, ys, around, first, after))

    def _pieces[T](self, columns: Columns, inside: Callable[[int, int], list[T]]) -> list[list[T]]:
        """What is ``inside`` of the columns, apart where there is nothing and where x falls."""
        found: list[list[T]] = []
        for begin, end in self.stretches():
            goes_on = False
            for first, after in columns.split(self.xs, begin, end):
                here = inside(first, after)
                if here and goes_on:
                    found[-1] += here
                elif here:
                    found.append(here)
                goes_on = bool(here)
        return found


def _telling(xs: Sequence[float], ys: Sequence[float], first: int, after: int) -> list[Point]:
    indices: Sequence[int] = range(first, after)
    values = list(ys[first:after])
    lowest, highest = min(values), max(values)
    if math.isnan(sum(values)) or lowest < -LARGEST or highest > LARGEST:
        indices = [index for index in indices if abs(ys[index]) <= LARGEST]
        values = [ys[index] for index in indices]
        lowest, highest = min(values, default=math.nan), max(values, default=math.nan)
    if len(indices) > WHOLE:
        telling = {0, values.index(lowest), values.index(highest), len(values) - 1}
        indices = [indices[place] for place in sorted(telling)]
    return [(xs[index], ys[index]) for index in indices]


def _edges(xs: Sequence[float], ys: Sequence[float], around: Sequence[float], first: int, after: int) -> list[Edge]:
    at, values, spreads = xs[first:after], list(ys[first:after]), list(around[first:after])
    low, high = list(map(sub, values, spreads)), list(map(add, values, spreads))
    if not (_drawable(low) and _drawable(high)):
        there = [place for place, ends in enumerate(zip(low, high, strict=True)) if _drawable(ends)]
        at, low, high = ([each[place] for place in there] for each in (at, low, high))
    if len(at) > WHOLE:
        lowest, highest = min(low), max(high)
        return [(at[0], lowest, highest), (at[-1], lowest, highest)]
    return list(zip(at, low, high, strict=True))


def _falls(xs: Sequence[float]) -> tuple[int, ...]:
    if not any(map(gt, xs, islice(xs, 1, None))):
        return ()
    return tuple(index for index, (before, x) in enumerate(pairwise(xs), start=1) if x < before)


def _drawable(values: Sequence[float]) -> bool:
    """Whether all are numbers that a drawing can hold."""
    return not values or (not math.isnan(sum(values)) and min(values) >= -LARGEST and max(values) <= LARGEST)
