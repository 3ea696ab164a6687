"""From values to places in a drawing, and the round numbers between. Pure."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

LARGEST = 1e300
"""What is larger is drawn at this place: differences stay finite."""
_FLATTEST = 1e-12
"""A span that is less than this part of its values is none."""
_MOST_DECIMALS = 6
_PLAIN_BELOW = 1e7


@dataclass(frozen=True, slots=True)
class Scale:
    """Values from ``low`` to ``high``, which is more, lie from ``start`` to ``end``, which may be less."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def over(cls, values: Iterable[float], start: float, end: float, *, margin: float = 0.0) -> Self:
        """A scale that holds all ``values``, which are finite; where all are the same they lie in the middle.

        ``margin`` is the part of their span that is left free on either side, as far as that does not lead below zero.
        """
        held = [max(-LARGEST, min(LARGEST, value)) for value in values] or [0.0, 1.0]
        low, high = min(held), max(held)
        span = high - low
        if span <= _FLATTEST * max(abs(low), abs(high)) or span < 1 / LARGEST:
            around = max(abs(low), abs(high)) / 10
            around = around if around > 1 / LARGEST else 1.0
            return cls(low - around, high + around, start, end)
        free = span * margin
        return cls(low - free if low < 0 else max(0.0, low - free), high + free, start, end)

    def at(self, value: float) -> float:
        share = (max(-LARGEST, min(LARGEST, value)) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def along(self, values: Iterable[float]) -> list[float]:
        """``at`` of many values, which are no larger than ``LARGEST``."""
        low, span, start, length = self.low, self.high - self.low, self.start, self.end - self.start
        return [start + (value - low) / span * length for value in values]

    def ticks(self, most: int) -> list[float]:
        """Round numbers at equal distances: one at least, at most ``most`` and one. ``most`` is 3 or more."""
        span = self.high - self.low
        closer = self._multiples(nice_step(span / (most + 2)))
        return closer if len(closer) <= most + 1 else self._multiples(nice_step(span / most))

    def _multiples(self, step: float) -> list[float]:
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]


def nice_step(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is no less than ``least``, which is above zero."""
    power = 10.0 ** math.floor(math.log10(least))
    return next((factor * power for factor in (1.0, 2.0, 5.0) if least <= factor * power * (1 + 1e-9)), 10.0 * power)


def labels(ticks: Sequence[float]) -> list[str]:
    """Ticks in figures, with as many decimals as tell them apart."""
    largest = max(map(abs, ticks), default=0.0)
    step = min((after - before for before, after in pairwise(ticks)), default=largest)
    if step <= 0:
        return [figures(tick) for tick in ticks]
    exponent = math.floor(math.log10(step) + 1e-9)
    if largest >= _PLAIN_BELOW or -exponent > _MOST_DECIMALS:
        digits = min(_MOST_DECIMALS, math.floor(math.log10(largest) + 1e-9) - exponent)
        return ["0" if abs(tick) < step / 2 else _signed(f"{tick:.{max(0, digits)}e}") for tick in ticks]
    decimals = max(0, -exponent)
    return ["0" if abs(tick) < step / 2 else _signed(f"{tick:,.{decimals}f}") for tick in ticks]


def figures(value: float) -> str:
    """A value for a reader: four significant figures, and whole numbers whole."""
    if abs(value) < _PLAIN_BELOW and value == int(value):
        return _signed(f"{int(value):,}")
    return _signed(f"{value:,.4g}")


def _signed(text: str) -> str:
    return text.replace("-", "−", 1) if text.startswith("-") else text
