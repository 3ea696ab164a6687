"""The numbers of a watch."""

from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from oddish.cli.tally import left, tallies, tally
from oddish.cli.watch import Snapshot
from oddish.client.types import Task, Trial

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
UNVERIFIED = {"verifier": {"disable": True}}


def ago(seconds: float) -> str:
    return (NOW - timedelta(seconds=seconds)).isoformat()


def trial(number: int, status: str = "queued", *, task: str = "a-00000000", **changes: object) -> Trial:
    made = {
        "id": f"{task}-{number}",
        "task_id": task,
        "agent": "codex",
        "model": "openai/gpt-5",
        "status": status,
        "harbor_stage": None,
        "reward": None,
        "started_at": None,
        "finished_at": None,
    }
    return cast("Trial", made | changes)


def done(number: int, *, took: float = 60, ended: float = 0, **changes: object) -> Trial:
    times = {"started_at": ago(ended + took), "finished_at": ago(ended), "reward": 1.0}
    return trial(number, "success", **(times | changes))


def snapshot(*trials: Trial) -> Snapshot:
    names = sorted({found["task_id"] for found in trials})
    return Snapshot([cast("Task", {"id": name, "name": name.partition("-")[0]}) for name in names], [*trials], NOW)


def test_counts_and_rewards_are_of_what_may_be_believed() -> None:
    found = tally(
        [
            trial(0, "success", reward=1.0),
            trial(1, "success", reward=0.5),
            trial(2, "failed", reward=1.0),
            trial(3, "failed", harbor_stage="cancelled"),
            trial(4, "success", harbor_config=UNVERIFIED),
            trial(5, "running"),
            trial(6, "retrying"),
            trial(7, "pending"),
        ]
    )
    assert (found.done, found.total) == (5, 8)
    assert found.by_status() == "1 queued, 1 running, 1 retrying, 3 success, 1 failed, 1 cancelled"
    assert found.reward() == "mean reward 0.75 (2 scored, 1 passed), 1 not verified"


@pytest.mark.parametrize(
    ("trials", "text"),
    [
        ([], ""),
        ([trial(0, "running")], ""),
        ([trial(0, "success")], ""),
        ([trial(0, "success", harbor_config=UNVERIFIED)], "not verified"),
        ([trial(0, "success", harbor_config=UNVERIFIED, reward=1.0)], "not verified"),
        ([trial(0, "success", reward=1.5e308), trial(1, "success", reward=1.5e308)],
         "mean reward 1.5e+308 (2 scored, 0 passed)"),
    ],
)  # fmt: skip
def test_what_is_said_of_rewards(trials: list[Trial], text: str) -> None:
    assert tally(trials).reward() == text


def test_agents_have_a_tally_each() -> None:
    found = tallies(snapshot(trial(0, agent="nop", model=None), trial(1), trial(2, agent="claude-code"), trial(3)))
    assert [(entry.label, entry.total) for entry in found] == [
        ("claude-code openai/gpt-5", 1),
        ("codex openai/gpt-5", 2),
        ("nop", 1),
    ]


@pytest.mark.parametrize(("tasks", "expected"), [(1, 0), (2, 2), (8, 8), (9, 0)])
def test_a_few_tasks_of_one_agent_have_a_tally_each(tasks: int, expected: int) -> None:
    found = tallies(snapshot(*(trial(0, task=f"{letter}-00000000") for letter in "abcdefghi"[:tasks])))
    assert [entry.label for entry in found] == list("abcdefghi"[:expected])


def test_an_estimate_needs_three_finished_trials() -> None:
    rest = [trial(8, "running", started_at=ago(30)), trial(9)]
    assert left(snapshot(done(0), done(1), *rest)) == ""
    assert left(snapshot(done(0), done(1), done(2), *rest)) == "about 1 min left"


def test_the_estimate_is_that_of_the_slowest_agent() -> None:
    quick = [done(number, took=10, agent="nop") for number in range(3)]
    waiting = [trial(number, "running", started_at=ago(0)) for number in range(10, 13)]
    assert left(snapshot(*quick, *waiting)) == ""
    slow = [done(number, took=600) for number in range(3, 6)]
    assert left(snapshot(*quick, *slow, *waiting)) == "about 10 min left"


def test_cancelled_trials_are_no_evidence() -> None:
    stopped = [
        trial(number, "failed", harbor_stage="cancelled", started_at=ago(9), finished_at=ago(8)) for number in range(5)
    ]
    assert left(snapshot(*stopped, trial(9, "running", started_at=ago(1)))) == ""


@pytest.mark.parametrize("moment", [None, "soon", "2026-01-01T12:00:05Z"])
def test_odd_times_make_no_odd_estimate(moment: str | None) -> None:
    finished = [done(number) for number in range(3)]
    assert left(snapshot(*finished, trial(9, "running", started_at=moment))) == "about 1 min left"
    assert left(snapshot(*finished[:2], done(2, finished_at=moment), trial(9, "running"))) in ("", "about 1 min left")


def test_nothing_is_left_of_a_run_that_has_ended() -> None:
    assert left(snapshot(*(done(number) for number in range(4)))) == ""
