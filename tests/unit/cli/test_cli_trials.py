from typing import cast

import pytest

from oddish.cli.trials import counts, detail, named_rewards, note, rows, short_note
from oddish.client.types import Task, Trial


def trial(number: int = 0, **changes: object) -> Trial:
    made = {
        "id": f"t-00000000-{number}",
        "task_id": "t-00000000",
        "agent": "codex",
        "model": "openai/gpt-5",
        "status": "queued",
        "harbor_stage": None,
        "error_message": None,
        "reward": None,
        "attempts": 1,
        "max_attempts": 6,
        "queue_info": None,
    }
    return cast("Trial", made | changes)


def queue(**changes: object) -> dict[str, object]:
    empty = dict.fromkeys(("position", "ahead", "queued_count", "running_count", "concurrency_limit", "reason"))
    return empty | changes


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "queued"),
        ({"harbor_stage": "waiting_for_capacity"}, "waiting for capacity"),
        ({"queue_info": queue(position=1, ahead=0)}, "next in the queue"),
        (
            {"queue_info": queue(position=3, ahead=2, running_count=8, concurrency_limit=8)},
            "2 ahead in the queue; 8 of at most 8 running for this model",
        ),
        (
            {"queue_info": queue(running_count=0, concurrency_limit=8, reason="no live worker offers docker")},
            "no live worker offers docker",
        ),
        ({"status": "running"}, "running"),
        ({"status": "running", "harbor_stage": "environment_setup"}, "preparing the environment"),
        ({"status": "running", "harbor_stage": "completed"}, "recording the result"),
        ({"status": "running", "harbor_stage": "some_new_stage"}, "some new stage"),
        ({"status": "retrying", "error_message": "429\nslow down"}, "attempt 1 of 6 failed: 429 slow down"),
        ({"status": "retrying", "queue_info": queue(reason="next at 12:00")}, "attempt 1 of 6 failed; next at 12:00"),
        ({"status": "failed", "harbor_stage": "cancelled"}, "cancelled"),
        ({"status": "failed", "harbor_stage": "cancelled", "error_message": "cancelled by ada"}, "cancelled by ada"),
        ({"status": "failed", "error_message": "\x1b[1mboom"}, "boom"),
        ({"status": "success", "harbor_stage": "completed"}, "completed"),
        ({"status": "success", "error_message": "agent timed out"}, "agent timed out"),
        ({"queue_info": queue(position=1, running_count=0, concurrency_limit=256)}, "next in the queue"),
        ({"queue_info": queue(running_count=2, concurrency_limit=8)}, "queued"),
        (
            {"queue_info": queue(running_count=8, concurrency_limit=8), "agent": "nop", "model": None},
            "8 of at most 8 running for oracle and nop",
        ),
        (
            {"queue_info": queue(running_count=8, concurrency_limit=8), "agent": "mine", "model": None},
            "8 of at most 8 running for agents without a model",
        ),
        ({"status": "retrying", "attempts": 0}, "given back by a worker, starts again"),
        ({"status": "retrying", "attempts": 0, "error_message": "its worker is gone"}, "its worker is gone"),
    ],
)
def test_each_state_is_explained(changes: dict[str, object], expected: str) -> None:
    assert detail(trial(**changes)) == expected


def test_cancelled_is_a_state_of_its_own() -> None:
    trials = [
        trial(0, status="failed", harbor_stage="cancelled"),
        trial(1, status="failed", harbor_stage="completed"),
        trial(2, status="running", harbor_stage="cancelled"),
        trial(3, status="pending"),
    ]
    assert counts(trials) == {"cancelled": 1, "failed": 1, "running": 1, "queued": 1}


@pytest.mark.parametrize(
    ("error", "long", "short"),
    [
        (None, None, None),
        (" \n", None, None),
        ("AgentTimeoutError: after 5s\nmore", "AgentTimeoutError: after 5s", "AgentTimeoutError"),
        ("AgentTimeoutError", "AgentTimeoutError", "AgentTimeoutError"),
        ("\x1b[1mnot a name: x", "not a name: x", "not a name: x"),
        ("x" * 200, "x" * 99 + "…", "x" * 99 + "…"),
    ],
)
def test_what_happened_beside_a_reward(error: str | None, long: str | None, short: str | None) -> None:
    successful = trial(status="success", reward=0.0, error_message=error)
    assert (note(successful), short_note(successful)) == (long, short)
    assert note(trial(status="failed", error_message=error)) is None


def test_of_a_long_error_the_beginning_and_the_end_are_told() -> None:
    told = detail(trial(status="failed", error_message=f"ImageBuildError: pip install {'x' * 500}\nno space left"))
    assert told.startswith("ImageBuildError: pip install")
    assert told.endswith("x no space left")
    assert len(told) <= 200


def test_a_trial_without_a_primary_reward_names_the_rewards_it_has() -> None:
    several = trial(status="success", rewards={"speed": 0.25, "tests": 1}, reasons=["ambiguous"])
    assert note(several) == "ambiguous: no reward is called `reward`, there are speed 0.25, tests 1"
    assert short_note(several) == "ambiguous"
    assert named_rewards(several) == "speed 0.25, tests 1"
    assert named_rewards(trial(status="success", reward=1.0, rewards={"reward": 1.0})) is None
    assert named_rewards(trial(status="success", reward=0.5, rewards={"score": 0.5})) == "score 0.5"
    assert note(trial(status="success", reward=1.0, rewards={"score": 1.0}, reasons=[])) is None


def test_results_are_grouped_and_counted() -> None:
    tasks = [cast("Task", {"id": "t-00000000", "name": "t"})]
    trials = [
        trial(10, status="success", reward=1.0),
        trial(2, status="success", reward=0.5),
        trial(1, status="failed", reward=1.0),
        trial(3, status="success", agent="nop", model=None, reward=0.0),
    ]
    codex, nop = rows(tasks, trials)
    assert (codex.task, codex.agent, codex.model) == ("t", "codex", "openai/gpt-5")
    assert [each["id"][-2:] for each in codex.trials] == ["-1", "-2", "10"]
    assert (codex.rewards, codex.mean, codex.passed) == ([0.5, 1.0], 0.75, 1)
    assert (nop.mean, nop.passed) == (0.0, 0)


def test_the_mean_of_huge_rewards_is_one_of_them() -> None:
    (row,) = rows([], [trial(index, status="success", reward=1.5e308) for index in range(3)])
    assert row.mean == pytest.approx(1.5e308)
    (row,) = rows([], [trial(index, status="success", reward=1.0) for index in range(10)])
    assert row.mean == 1.0
