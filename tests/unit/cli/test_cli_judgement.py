"""What trials of oracle and nop say about a task."""

from pathlib import Path
from typing import Any

import pytest

from oddish.cli.judgement import Runs, judge
from oddish.client.types import Trial
from oddish.soundness.verdict import Check
from oddish.tasks.definition import load_task

HELLO = load_task(Path(__file__).parents[3] / "examples" / "hello-world")
START = "2026-01-01T00:00:00Z"
ENDS = {seconds: f"2026-01-01T00:{seconds // 60:02}:{seconds % 60:02}Z" for seconds in (1, 2, 40, 200)}


def trial(reward: float | None, index: int = 0, **changes: object) -> Trial:
    made: dict[str, Any] = {
        "id": f"hello-world-1-{index}",
        "agent": "oracle",
        "status": "success",
        "environment": "docker",
        "harbor_stage": "completed",
        "reward": reward,
        "rewards": None if reward is None else {"reward": reward},
        "reasons": [],
        "error_message": None,
        "attempts": 1,
        "max_attempts": 2,
        "started_at": START,
        "finished_at": ENDS[2],
    }
    return made | changes  # type: ignore[return-value]


def ended(reason: str, message: str, **changes: object) -> Trial:
    return trial(None, status="failed", reasons=[reason], error_message=message, **changes)


def phases(**seconds: int) -> dict[str, object]:
    return {name: {"started_at": START, "finished_at": ENDS[value]} for name, value in seconds.items()}


ONE, ZERO = [trial(1.0, 0), trial(1.0, 1)], [trial(0.0, 2), trial(0.0, 3)]


def checks(oracle: list[Trial] = ONE, nop: list[Trial] = ZERO, **facts: Any) -> dict[str, Check]:
    return {check.name: check for check in judge(Runs(HELLO, oracle, nop, **facts))}


def test_a_sound_task_is_solved_by_its_solution_and_by_nothing_else() -> None:
    found = checks()
    assert {name: check.level for name, check in found.items()} == dict.fromkeys(found, "ok")
    assert found["oracle"].found == "the task's own solution earned 1 in each of 2 trials"
    assert found["nop"].found == "doing nothing earned 0 in each of 2 trials"
    assert found["agreement"].found == "equal rewards in 2 of oracle and 2 of nop, each in a fresh environment"


@pytest.mark.parametrize(
    ("rewards", "said"),
    [((0.75, 0.75), "0.75 in each of 2 trials"), ((1.0, 0.0), "1 and 0 in 2 trials"), ((0.5,), "0.5 in 1 trial")],
)
def test_a_solution_that_earns_less_than_1_fails_and_the_trial_is_named(rewards: tuple[float, ...], said: str) -> None:
    found = checks([trial(reward, index) for index, reward in enumerate(rewards)])["oracle"]
    assert found.level == "failed"
    assert said in found.found
    wrong = next(index for index, reward in enumerate(rewards) if reward != 1)
    assert f"oddish status hello-world-1-{wrong} -v" in str(found.fix)


def test_a_task_that_is_solved_by_doing_nothing_fails() -> None:
    found = checks(nop=[trial(0.0), trial(1.0)])["nop"]
    assert found.level == "failed"
    assert "0 and 1 in 2 trials" in found.found


def test_a_part_of_the_reward_for_nothing_is_a_warning() -> None:
    found = checks(nop=[trial(0.25), trial(0.25)])["nop"]
    assert (found.level, "0.25" in found.found) == ("warning", True)


@pytest.mark.parametrize(
    ("reason", "level"),
    [
        ("RewardFileNotFoundError", "failed"),
        ("VerifierTimeoutError", "failed"),
        ("image_build_failed", "failed"),
        ("APIConnectionError", "unchecked"),
        ("crashed", "unchecked"),
        ("AttributeError", "unchecked"),
    ],
)
def test_what_a_trial_ended_for_is_the_tasks_fault_or_that_of_what_ran_it(reason: str, level: str) -> None:
    found = checks(nop=[trial(0.0), ended(reason, f"{reason}: it went wrong")])["nop"]
    assert found.level == level
    assert "it went wrong" in found.found


def test_trials_that_were_stopped_or_never_began_say_nothing() -> None:
    stopped = trial(None, status="failed", harbor_stage="cancelled", error_message="Cancelled by user")
    assert checks([stopped])["oracle"].level == "unchecked"
    assert checks([])["oracle"].level == "unchecked"
    assert checks([trial(None, status="running")])["oracle"].level == "unchecked"


def test_a_task_that_needs_docker_is_not_blamed_for_the_local_sandbox() -> None:
    there = ended("misconfigured", "InvalidTask: a second FROM", environment="local")
    found = checks([there], local_obstacle="environment/Dockerfile: a second FROM")["oracle"]
    assert (found.level, "-e docker" in str(found.fix)) == ("unchecked", True)
    assert checks([there])["oracle"].level == "failed"


def test_several_rewards_without_a_main_one_fail() -> None:
    found = checks([trial(None, rewards={"speed": 1, "size": 2})])["oracle"]
    assert found.level == "failed"
    assert "speed, size" in found.found


def test_something_that_went_wrong_beside_a_reward_of_1_is_a_warning() -> None:
    found = checks([trial(1.0, error_message="AgentTimeoutError: it took long")])["oracle"]
    assert (found.level, "AgentTimeoutError" in found.found) == ("warning", True)


def test_repeated_trials_have_to_agree_in_every_reward() -> None:
    unequal = [trial(1.0, 0, rewards={"reward": 1.0, "speed": 3}), trial(1.0, 1, rewards={"reward": 1.0, "speed": 4})]
    found = checks(unequal)
    assert found["oracle"].level == "ok"
    assert found["agreement"].level == "failed"
    assert "reward=1.0 speed=3, reward=1.0 speed=4" in found["agreement"].found


def test_one_trial_each_is_not_compared() -> None:
    assert "agreement" not in checks(ONE[:1], ZERO[:1])


def test_without_a_solution_the_oracle_is_not_asked_for() -> None:
    assert "oracle" not in checks([], has_solution=False)


def test_the_longest_trials_are_shown_with_their_phases() -> None:
    quick = trial(1.0, finished_at=ENDS[1], phase_timing=phases(environment_setup=1))
    slow = trial(1.0, finished_at=ENDS[40], phase_timing=phases(environment_setup=2, verifier=2))
    found = checks([quick, slow])["time"]
    assert found.found == "at most: oracle 40.0 s (environment 2.0 s, verifier 2.0 s); nop 2.0 s"


@pytest.mark.parametrize(
    ("timing", "key"), [({"agent_execution": 200}, "agent.timeout_sec"), ({"verifier": 40}, "verifier.timeout_sec")]
)
def test_more_than_half_of_a_time_limit_is_a_warning(timing: dict[str, int], key: str) -> None:
    found = checks([trial(1.0, phase_timing=phases(**timing))])["time"]
    assert found.level == "warning"
    assert key in found.found
