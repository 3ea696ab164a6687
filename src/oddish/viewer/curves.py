"""What the steps of a training run show: curves, steps that taught nothing, and what it came to. Pure."""

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import not_

from oddish.viewer.steps import NAMES, Steps


@dataclass(frozen=True, slots=True)
class Metric:
    """A column of the steps; ``spread``: the one that says how far its values lie apart."""

    name: str
    label: str
    spread: str | None = None


METRICS = (
    Metric("reward", "Reward", "reward_std"),
    Metric("loss", "Loss"),
    Metric("kl", "KL divergence"),
    Metric("entropy", "Entropy"),
    Metric("ratio", "Importance ratio"),
    Metric("n_rollouts", "Rollouts"),
    Metric("n_unscorable", "Unscorable rollouts"),
    Metric("wall_s", "Seconds per step"),
)


@dataclass(frozen=True, slots=True)
class Curve:
    """Values of the steps in the order of the file, NaN where there is none."""

    values: Sequence[float]
    spread: Sequence[float] | None
    """How far those of which each value is the mean lie apart."""


@dataclass(frozen=True, slots=True)
class Part:
    """``count`` of ``of``."""

    count: float
    of: float

    @property
    def share(self) -> float | None:
        """None where there is nothing to be a share of."""
        return self.count / self.of if self.of else None


@dataclass(frozen=True, slots=True)
class Progress:
    """What a run came to. None where no step says it."""

    steps: int
    first_step: float | None
    last_step: float | None
    """The last one in the file, like ``last_reward``."""
    last_reward: float | None
    best_reward: float | None
    best_step: float | None
    """The first with the best reward."""
    flat: Part
    """Steps in which every generation scored the same, of those that say how far they lie apart."""
    unscorable: Part
    """Rollouts, of the steps that count both."""
    seconds: float | None
    """Of all steps that say how long they took."""
    mean_seconds: float | None


def metrics(runs: Iterable[Steps]) -> list[Metric]:
    """Those that any of the runs has: the contract's in their order, then others by name."""
    names = {name for steps in runs for name in steps.names()}
    known = [metric for metric in METRICS if metric.name in names]
    return known + [Metric(name, name) for name in sorted(names.difference(NAMES))]


def curve(steps: Steps, metric: Metric) -> Curve:
    return Curve(steps.column(metric.name), steps.column(metric.spread) if metric.spread else None)


def flat_steps(steps: Steps) -> list[float]:
    """The steps in which every generation scored the same: they taught nothing."""
    return list(compress(steps.column("step"), map(not_, steps.column("reward_std"))))


def progress(steps: Steps) -> Progress:
    numbers, rewards, spreads, seconds = map(steps.column, ("step", "reward", "reward_std", "wall_s"))
    rewarded, spread, timed = _there(rewards), _there(spreads), _there(seconds)
    best, total = max(rewarded, default=None), sum(timed)
    best_step = None if best is None else numbers[rewards.index(best)]
    unscorable, rollouts = _counted(steps.column("n_unscorable"), steps.column("n_rollouts"))
    return Progress(
        steps=len(steps),
        first_step=_first(numbers),
        last_step=_first(reversed(numbers)),
        last_reward=rewarded[-1] if rewarded else None,
        best_reward=best,
        best_step=None if best_step is None or math.isnan(best_step) else best_step,
        flat=Part(spread.count(0.0), len(spread)),
        unscorable=Part(sum(unscorable), sum(rollouts)),
        seconds=total if timed else None,
        mean_seconds=total / len(timed) if timed else None,
    )


def _there(values: "array[float]") -> "array[float]":
    if not math.isnan(sum(values)):
        return values
    return array("d", [value for value in values if not math.isnan(value)])


def _first(values: Iterable[float]) -> float | None:
    return next((value for value in values if not math.isnan(value)), None)


def _counted(some: Sequence[float], others: Sequence[float]) -> tuple[Sequence[float], Sequence[float]]:
    """Those of steps that have both."""
    if not math.isnan(sum(some) + sum(others)):
        return some, others
    both = [(one, other) for one, other in zip(some, others, strict=True) if not math.isnan(one + other)]
    return [one for one, _ in both], [other for _, other in both]
