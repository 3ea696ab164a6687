"""What some attempts have spent together. Pure."""

from dataclasses import dataclass, fields
from operator import add
from typing import Self


@dataclass(frozen=True)
class Sums:
    """Of attempts that ran here: what became of their trials does not matter, the money is gone."""

    attempts: int = 0
    trials: int = 0
    """A trial counts with its first attempt, so that trials add up over times."""
    running: int = 0
    """Attempts that have not ended and count with what they have spent so far."""
    input_tokens: int = 0
    """Those from and to a cache included."""
    cache_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    estimated_cost_usd: float = 0.0
    """The part of it that prices were looked up for; the rest is as agents reported it."""
    unpriced: int = 0
    """Attempts that used tokens of which nobody knows the price."""
    unreported: int = 0
    """Attempts whose agent ran and did not say what it used."""

    def __add__(self, other: Self) -> Self:
        return type(self)(*map(add, self.values(), other.values()))

    def values(self) -> tuple[float, ...]:
        return tuple(getattr(self, name) for name in NAMES)

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    @property
    def reported_cost_usd(self) -> float:
        return self.cost_usd - self.estimated_cost_usd


NAMES = tuple(field.name for field in fields(Sums))
TOKENS = tuple(name for name in NAMES if name.endswith("_tokens"))
