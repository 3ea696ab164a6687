from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import cast

import pytest

from oddish.cli import watch
from oddish.cli.progress import PlainProgress, summary
from oddish.cli.watch import GaveUp, Outage, RunScope, Snapshot, follow
from oddish.client.errors import ApiError, UnexpectedAnswer, Unreachable
from oddish.client.types import Task, Trial

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def trial(number: int = 0, status: str = "queued", **changes: object) -> Trial:
    made = {
        "id": f"t-00000000-{number}",
        "task_id": "t-00000000",
        "experiment_id": "e1",
        "agent": "codex",
        "model": "openai/gpt-5",
        "status": status,
        "reward": None,
        "started_at": None,
        "finished_at": None,
        "attempts": 0,
        "max_attempts": 6,
    }
    return cast("Trial", made | changes)


def snapshot(*statuses: str) -> Snapshot:
    return Snapshot([], [trial(number, status) for number, status in enumerate(statuses)])


class Time:
    """A clock that moves only by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    fake = Time()
    monkeypatch.setattr(watch, "time", fake)
    return fake


def fetching(*events: Snapshot | Exception) -> Callable[[], Snapshot]:
    remaining = list(events)

    def fetch() -> Snapshot:
        event = remaining.pop(0) if len(remaining) > 1 else remaining[0]
        if isinstance(event, Exception):
            raise event
        return event

    return fetch


def test_polling_slows_down_and_ends_with_the_last_trial(time: Time) -> None:
    events = list(follow(fetching(*[snapshot("running")] * 100, snapshot("success"))))
    assert len(events) == 101
    assert time.pauses[0] == watch.QUICKEST
    assert time.pauses[-1] == watch.SLOWEST
    assert time.pauses == sorted(time.pauses)


def test_the_end_is_noticed_soon_for_the_time_it_was_waited_for(time: Time) -> None:
    for _ in follow(fetching(*[snapshot("running")] * 100, snapshot("success"))):
        assert not time.pauses or time.pauses[-1] <= max(watch.QUICKEST, time.now / 20)


@pytest.mark.parametrize(
    "error", [Unreachable("gone"), UnexpectedAnswer("a page"), ApiError({"detail": "gone"}, 503), ApiError({}, 429)]
)
def test_outages_are_reported_with_growing_pauses(time: Time, error: Exception) -> None:
    events = list(follow(fetching(*[error] * 6, snapshot("success"))))
    outages = [event for event in events if isinstance(event, Outage)]
    assert [outage.pause for outage in outages] == [1, 2, 4, 8, 15, 15]
    assert [outage.first for outage in outages] == [True, *[False] * 5]
    assert isinstance(events[-1], Snapshot)


def test_an_endless_outage_ends_the_watch(time: Time) -> None:
    with pytest.raises(GaveUp) as caught:
        list(follow(fetching(Unreachable("It is gone.")), "oddish status -e x --watch"))
    assert caught.value.message == (
        "No longer watching after 10 minutes without an answer; the trials go on. It is gone."
    )
    assert caught.value.fix == "When the server is back: oddish status -e x --watch"
    assert watch.GIVE_UP_AFTER < time.now < watch.GIVE_UP_AFTER + 2 * watch.LONGEST_PAUSE


def test_refusals_end_the_watch_at_once(time: Time) -> None:
    with pytest.raises(ApiError):
        list(follow(fetching(ApiError({}, 401))))
    assert time.pauses == []


@pytest.mark.parametrize(
    ("statuses", "complete", "successful"),
    [
        ([], True, False),
        (["success", "success"], True, True),
        (["success", "failed"], True, False),
        (["success", "skipped"], True, False),
        (["success", "retrying"], False, False),
        (["pending"], False, False),
    ],
)
def test_when_a_run_is_over_and_good(statuses: list[str], complete: bool, successful: bool) -> None:
    assert snapshot(*statuses).complete is complete
    assert snapshot(*statuses).successful is successful


def scoped(scope: RunScope, *trials: Trial) -> list[str]:
    task = cast("Task", {"id": "t-00000000", "name": "t", "trials": list(trials)})
    other = cast("Task", {"id": "other-00000000", "name": "other", "trials": [trial(9)]})
    client = SimpleNamespace(experiment_tasks=lambda experiment_id: [task, other], server_time=lambda: NOW)
    found = scope.snapshot(cast("watch.Client", client))
    assert found.at is NOW
    return [trial["id"][-1] for trial in found.trials]


def test_a_run_is_what_it_created_and_what_was_there_for_the_same_agent_and_model() -> None:
    scope = RunScope("e1", frozenset({"t-00000000"}), frozenset({("codex", "gpt-5")}), frozenset({"t-00000000-0"}))
    assert scoped(
        scope,
        trial(0, agent="renamed"),
        trial(1),
        trial(2, agent="nop"),
        trial(3, model="openai/gpt-4"),
        trial(4, experiment_id="e2"),
        trial(5, superseded_by_trial_id="t-00000000-1"),
    ) == ["0", "1"]


def test_plain_progress_writes_changes_once() -> None:
    lines: list[str] = []
    progress = PlainProgress(lines.append)
    for statuses in (["queued"], ["queued"], ["running"], ["success"]):
        progress.update(snapshot(*statuses))
    assert lines == [
        "t-00000000-0  queued  queued",
        "t-00000000-0  running  running",
        "t-00000000-0  success  reward –",
    ]


def test_plain_progress_names_what_happened_beside_a_reward_and_who_was_stopped() -> None:
    lines: list[str] = []
    trials = [
        trial(0, "success", reward=0.0, error_message="AgentTimeoutError: after 5s"),
        trial(1, "failed", harbor_stage="cancelled", error_message="cancelled by user"),
    ]
    PlainProgress(lines.append).update(Snapshot([], trials))
    assert lines == [
        "t-00000000-0  success  reward 0  (AgentTimeoutError)",
        "t-00000000-1  cancelled  cancelled by user",
    ]
    assert summary(Snapshot([], trials)) == "2/2 done: 1 success, 1 cancelled"
    assert not Snapshot([], trials).successful


def test_plain_progress_counts_many_trials() -> None:
    lines: list[str] = []
    now = 0.0
    progress = PlainProgress(lines.append, clock=lambda: now)
    progress.update(snapshot(*["queued"] * 21))
    progress.update(snapshot(*["queued"] * 20, "running"))
    now = 6.0
    progress.update(snapshot(*["queued"] * 19, "running", "failed"))
    progress.update(snapshot(*["success"] * 21))
    assert lines == [
        "21 trials: 21 queued",
        "21 trials: 19 queued, 1 running, 1 failed",
        "21 trials: 21 success",
    ]


def test_plain_progress_tells_rewards_and_the_time_that_is_left() -> None:
    def finished(number: int) -> Trial:
        start, end = (NOW - timedelta(minutes=ago) for ago in (2, 0))
        times = {"started_at": start.isoformat(), "finished_at": end.isoformat()}
        return trial(number, "success", reward=number % 2, **times)

    lines: list[str] = []
    trials = [*(finished(number) for number in range(10)), *(trial(number) for number in range(10, 30))]
    PlainProgress(lines.append).update(Snapshot([], trials, NOW))
    assert lines == [
        "30 trials: 20 queued, 10 success; mean reward 0.5 (10 scored, 5 passed); about 6 min left",
    ]


def test_plain_progress_tells_a_few_trials_apart() -> None:
    lines: list[str] = []
    PlainProgress(lines.append).update(snapshot(*["queued"] * 20))
    assert len(lines) == 20
