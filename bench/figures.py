"""Samples and what is said of them. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bench.rows import UNITS, Row


@dataclass(frozen=True)
class Figures:
    """The samples of one row, in its unit."""

    ours: Sequence[float] = ()
    peer: Sequence[float] = ()
    missing: str = ""
    """Why there are no samples of ours, or none of the peer's."""
    further: Mapping[str, float] = field(default_factory=dict)
    """Other figures of the row, by name."""
    details: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Samples of parts or neighbours of the row, in its unit, by name."""
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Verdict:
    ours: float | None
    peer: float | None
    ratio: float | None
    met: bool | None
    """None when nothing was measured that the target speaks of."""


def percentile(samples: Sequence[float], share: float) -> float:
    """The smallest sample that at least ``share`` of them do not exceed. ``samples`` is not empty."""
    return sorted(samples)[max(math.ceil(len(samples) * share) - 1, 0)]


def statistic(samples: Sequence[float], name: str) -> float:
    """``p50`` and the like."""
    return percentile(samples, int(name.removeprefix("p")) / 100)


def verdict(row: Row, figures: Figures) -> Verdict:
    ours = statistic(figures.ours, row.statistic) if figures.ours else None
    peer = statistic(figures.peer, row.statistic) if figures.peer else None
    ratio = ours / peer if ours is not None and peer else None
    judged = ratio if row.of == "ratio" else ours
    if judged is None:
        return Verdict(ours, peer, ratio, None)
    kept = judged <= row.limit if row.of == "ratio" else judged < row.limit
    return Verdict(ours, peer, ratio, kept and all(figures.further[name] <= most for name, most in row.most.items()))


def shown(value: float, unit: str) -> str:
    """A figure with its unit; small ones with more decimals than the unit has otherwise."""
    decimals = UNITS[unit] if abs(value) >= 10 or UNITS[unit] else 2
    return f"{value:.{decimals}f} {unit}"
