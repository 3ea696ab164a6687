"""The numbers of a watch: how far each agent or task is, what its trials earned so far, how long the rest may take."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from oddish.cli.eta import Span, eta, rough
from oddish.cli.text import moment, number, one_line
from oddish.cli.trials import NOT_VERIFIED, cancelled, counts, finished, grouped, mean, score, unverified
from oddish.cli.watch import Snapshot
from oddish.client.types import Trial

ORDER = ("queued", "running", "retrying", "success", "failed", "cancelled", "skipped")
TASKS_APART = 8

type Kind = tuple[str, str | None]
"""Agent and model."""


@dataclass(frozen=True)
class Tally:
    """Counts of some trials and the rewards of those among them that have one."""

    label: str
    total: int
    counts: Counter[str]
    scored: int
    mean: float | None
    passed: int
    unverified: int

    @property
    def done(self) -> int:
        return self.total - sum(self.counts[status] for status in ("queued", "running", "retrying"))

    def by_status(self, statuses: Sequence[str] = ORDER) -> str:
        return ", ".join(f"{self.counts[status]} {status}" for status in statuses if self.counts[status])

    def reward(self) -> str:
        """Empty as long as nothing can be said."""
        parts = [f"mean reward {number(self.mean)} ({self.scored} scored, {self.passed} passed)"] if self.scored else []
        if self.unverified:
            parts.append(f"{self.unverified} {NOT_VERIFIED}" if self.unverified < self.total else NOT_VERIFIED)
        return ", ".join(parts)


def tally(trials: Sequence[Trial], label: str = "") -> Tally:
    rewards = [reward for trial in trials if (reward := score(trial)) is not None]
    return Tally(
        label=label,
        total=len(trials),
        counts=counts(trials),
        scored=len(rewards),
        mean=mean(rewards),
        passed=sum(reward == 1 for reward in rewards),
        unverified=sum(map(unverified, trials)),
    )


def tallies(snapshot: Snapshot) -> list[Tally]:
    """By agent and model when there are several, else by task when there are a few; else none."""
    by_kind = grouped(snapshot.trials, kind)
    if len(by_kind) > 1:
        return [tally(trials, kind_label(*which)) for which, trials in sorted(by_kind.items(), key=_by_name)]
    by_task = grouped(snapshot.trials, lambda trial: trial["task_id"])
    if 1 < len(by_task) <= TASKS_APART:
        names = {task["id"]: task["name"] for task in snapshot.tasks}
        found = [tally(trials, one_line(names.get(task_id, task_id))) for task_id, trials in by_task.items()]
        return sorted(found, key=lambda entry: entry.label)
    return []


def kind(trial: Trial) -> Kind:
    return trial["agent"], trial["model"]


def kind_label(agent: str, model: str | None) -> str:
    return one_line(agent if model is None else f"{agent} {model}")


def left(snapshot: Snapshot) -> str:
    """How long the rest may take: as long as that of the slowest agent and model. Empty while that is not known."""
    estimates: list[float] = []
    for trials in grouped(snapshot.trials, kind).values():
        estimate = _eta(trials, snapshot.at)
        if estimate is None:
            return ""
        estimates.append(estimate)
    return "" if snapshot.complete else f"{rough(max(estimates))} left"


def _eta(trials: Sequence[Trial], at: datetime) -> float | None:
    now = at.timestamp()
    ended = [span for trial in trials if finished(trial) and not cancelled(trial) and (span := _span(trial))]
    running = [_seconds(trial["started_at"], now) for trial in trials if trial["status"] == "running"]
    waiting = sum(not finished(trial) for trial in trials) - len(running)
    return eta(ended, running, waiting, now)


def _span(trial: Trial) -> Span | None:
    start, end = moment(trial["started_at"]), moment(trial["finished_at"])
    return Span(start.timestamp(), end.timestamp()) if start and end else None


def _seconds(value: str | None, default: float) -> float:
    found = moment(value)
    return default if found is None else found.timestamp()


def _by_name(entry: tuple[Kind, list[Trial]]) -> tuple[str, str]:
    (agent, model), _ = entry
    return agent, model or ""
