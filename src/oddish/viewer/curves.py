"""What the steps of a training run show: curves, steps that taught nothing, and what it came to. Pure."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import add, sub

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
    band: tuple[Sequence[float], Sequence[float]] | None
    """From the value less its spread to the value and its spread."""


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
    values = steps.column(metric.name).tolist()
    band = None
    if metric.spread is not None:
        spreads = steps.column(metric.spread)
        band = list(map(sub, values, spreads)), list(map(add, values, spreads))
    return Curve(values, band)


def flat_steps(steps: Steps) -> list[float]:
    """The steps in which every generation scored the same: they taught nothing."""
    return [step for step, spread in zip(steps.column("step"), steps.column("reward_std"), strict=True) if spread == 0]


def progress(steps: Steps) -> Progress:
    columns = (steps.column(name).tolist() for name in ("step", "reward", "reward_std", "wall_s"))
    numbers, rewards, spreads, seconds = columns
    rewarded, spread, timed = _there(rewards), _there(spreads), _there(seconds)
    best, total = max(rewarded, default=None), sum(timed)
    best_step = None if best is None else numbers[rewards.index(best)]
    unscorable, rollouts = _counted(steps.column("n_unscorable").tolist(), steps.column("n_rollouts").tolist())
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


def _there(values: list[float]) -> list[float]:
    if not math.isnan(sum(values)):
        return values
    return [value for value in values if not math.isnan(value)]


def _first(values: Iterable[float]) -> float | None:
    return next((value for value in values if not math.isnan(value)), None)


def _counted(some: list[float], others: list[float]) -> tuple[list[float], list[float]]:
    """Those of steps that have both."""
    if not math.isnan(sum(some) + sum(others)):
        return some, others
    both = [(one, other) for one, other in zip(some, others, strict=True) if not math.isnan(one + other)]
    return [one for one, _ in both], [other for _, other in both]
