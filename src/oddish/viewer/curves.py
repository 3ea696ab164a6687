"""What the steps of a training run show: curves, steps that taught nothing, and what it came to. Pure."""

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
    """Values by step in the order of the file, NaN where there is none."""

    steps: Sequence[float]
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
    values = steps.column(metric.name)
    band = None
    if metric.spread is not None:
        spreads = steps.column(metric.spread)
        lows = array("d", (value - spread for value, spread in zip(values, spreads, strict=True)))
        highs = array("d", (value + spread for value, spread in zip(values, spreads, strict=True)))
        band = lows, highs
    return Curve(steps.column("step"), values, band)


def flat_steps(steps: Steps) -> list[float]:
    """The steps in which every generation scored the same: they taught nothing."""
    return [step for step, spread in zip(steps.column("step"), steps.column("reward_std"), strict=True) if spread == 0]


def progress(steps: Steps) -> Progress:
    numbers, rewards = steps.column("step"), steps.column("reward")
    rewarded = [index for index, reward in enumerate(rewards) if not math.isnan(reward)]
    best = max(rewarded, key=rewards.__getitem__, default=None)
    spreads = _there(steps.column("reward_std"))
    seconds = _there(steps.column("wall_s"))
    counted = [
        (unscorable, rollouts)
        for unscorable, rollouts in zip(steps.column("n_unscorable"), steps.column("n_rollouts"), strict=True)
        if not math.isnan(unscorable + rollouts)
    ]
    return Progress(
        steps=len(steps),
        first_step=next(iter(_there(numbers)), None),
        last_step=next(iter(_there(numbers[::-1])), None),
        last_reward=rewards[rewarded[-1]] if rewarded else None,
        best_reward=None if best is None else rewards[best],
        best_step=None if best is None or math.isnan(numbers[best]) else numbers[best],
        flat=Part(spreads.count(0.0), len(spreads)),
        unscorable=Part(sum(unscorable for unscorable, _ in counted), sum(rollouts for _, rollouts in counted)),
        seconds=sum(seconds) if seconds else None,
        mean_seconds=sum(seconds) / len(seconds) if seconds else None,
    )


def _there(values: Sequence[float]) -> list[float]:
    return [value for value in values if not math.isnan(value)]
