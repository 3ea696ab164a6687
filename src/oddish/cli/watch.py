"""Following a set of trials until all of them have ended, through lost connections."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from oddish.cli.trials import finished, live_trials, succeeded
from oddish.client import Client
from oddish.client.errors import ApiError, UnexpectedAnswer, Unreachable
from oddish.client.retry import RetryPolicy
from oddish.client.types import Submitted, Task, Trial
from oddish.errors import OddishError

QUICKEST = 0.25
SLOWEST = 2.0
LATENESS = 0.05
"""How late the end is noticed, at most, as a part of the time it was waited for."""
LONGEST_PAUSE = 15.0
GIVE_UP_AFTER = 600.0
"""Seconds without an answer that end a watch."""
RETRY = RetryPolicy(attempts=2)


@dataclass(frozen=True)
class Snapshot:
    """The watched trials at one moment, and the tasks they belong to."""

    tasks: list[Task]
    trials: list[Trial]
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    """The moment, by the clock of the server."""

    @property
    def complete(self) -> bool:
        return all(finished(trial) for trial in self.trials)

    @property
    def successful(self) -> bool:
        return bool(self.trials) and all(succeeded(trial) for trial in self.trials)


@dataclass(frozen=True)
class Outage:
    """The server did not answer; the next try is in ``pause`` seconds."""

    reason: str
    pause: float
    first: bool = False
    """Of a row of them."""


class GaveUp(Unreachable):
    """The server did not come back for so long that the watch has ended."""


class Progress(Protocol):
    def update(self, snapshot: Snapshot) -> None: ...

    def outage(self, outage: Outage) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class RunScope:
    """The trials that one ``oddish run`` asked for: those it created and those that were there already."""

    experiment_id: str
    task_ids: frozenset[str]
    agents: frozenset[tuple[str, str | None]]
    """Each with its model, as it was asked for."""
    created: frozenset[str]

    @classmethod
    def of(cls, submitted: list[Submitted], agents: Iterable[tuple[str, str | None]]) -> "RunScope":
        return cls(
            experiment_id=submitted[0]["experiment_id"],
            task_ids=frozenset(task["id"] for task in submitted),
            agents=frozenset(agents),
            created=frozenset(trial_id for task in submitted for trial_id in task.get("new_trial_ids") or []),
        )

    def snapshot(self, client: Client) -> Snapshot:
        tasks = [task for task in client.experiment_tasks(self.experiment_id) if task["id"] in self.task_ids]
        trials = [trial for task in tasks for trial in live_trials(task) if self._includes(trial)]
        return Snapshot(tasks, trials, client.server_time())

    def _includes(self, trial: Trial) -> bool:
        if trial["id"] in self.created:
            return True
        return trial["experiment_id"] == self.experiment_id and any(
            trial["agent"] == agent and (model is None or _same_model(trial["model"], model))
            for agent, model in self.agents
        )


def _same_model(one: str | None, other: str) -> bool:
    """Whether two spellings can name the same model; the server may have added the provider."""
    return one is not None and one.rpartition("/")[2].lower() == other.rpartition("/")[2].lower()


def follow(
    fetch: Callable[[], Snapshot], come_back: str | None = None, *, interval: float | None = None
) -> Iterator[Snapshot | Outage]:
    """Snapshots until one is complete, with ``interval`` seconds in between.

    By default short runs are polled often, long ones every two seconds, large ones as fits what an answer takes.

    Raises ``GaveUp`` with the command ``come_back`` after ``GIVE_UP_AFTER`` seconds without an answer.
    """
    began = time.monotonic()
    lost_at: float | None = None
    failures = 0
    while True:
        asked = time.monotonic()
        try:
            snapshot = fetch()
        except OddishError as error:
            if not _transient(error):
                raise
            lost_at = asked if lost_at is None else lost_at
            if time.monotonic() - lost_at > GIVE_UP_AFTER:
                raise _gave_up(error, come_back) from error
            failures += 1
            pause = min(LONGEST_PAUSE, 2.0 ** (failures - 1))
            yield Outage(error.message, pause, first=failures == 1)
            time.sleep(pause)
            continue
        lost_at, failures = None, 0
        yield snapshot
        if snapshot.complete:
            return
        now = time.monotonic()
        pace = min(SLOWEST, LATENESS * (now - began))
        time.sleep(interval or max(QUICKEST, pace, min(SLOWEST * 5, 4 * (now - asked))))


def _transient(error: OddishError) -> bool:
    if isinstance(error, ApiError):
        return RetryPolicy.worth_repeating(error.http_status)
    return isinstance(error, Unreachable | UnexpectedAnswer)


def _gave_up(error: OddishError, come_back: str | None) -> GaveUp:
    minutes = f"{GIVE_UP_AFTER / 60:.0f} minutes"
    return GaveUp(
        f"No longer watching after {minutes} without an answer; the trials go on. {error.message}",
        fix=f"When the server is back: {come_back}" if come_back else None,
    )


def watch_until_done(fetch: Callable[[], Snapshot], progress: Progress, come_back: str | None = None) -> Snapshot:
    """Show progress until everything has ended and return the end. ``come_back`` is the command that resumes it."""
    last = Snapshot([], [])
    try:
        for event in follow(fetch, come_back):
            if isinstance(event, Outage):
                progress.outage(event)
            else:
                last = event
                progress.update(event)
    finally:
        progress.close()
    return last
