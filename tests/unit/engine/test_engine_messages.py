"""Messages of the engine as people read them, tried on what it has really said."""

import json
from pathlib import Path

import pytest

from oddish.engine.messages import readable, without_places

RECORDED = Path(__file__).parents[2] / "data" / "harbor-jobs"


def recorded(job: str) -> list[tuple[str, str]]:
    """The exceptions that a recorded job ended with: class and message."""
    found = [json.loads(path.read_text())["exception_info"] for path in sorted((RECORDED / job).glob("*/result.json"))]
    return [(entry["exception_type"], entry["exception_message"]) for entry in found if entry]


def test_a_missing_reward_names_the_files_that_the_tests_see() -> None:
    ((kind, message),) = recorded("07-no-reward-file")
    said = "The tests wrote no reward: neither /logs/verifier/reward.txt nor /logs/verifier/reward.json is there"
    assert readable(kind, message) == said
    of_step = message.replace("/verifier/reward", "/steps/build/verifier/reward")
    assert readable(kind, of_step) == f"{said} (step build)"


def test_a_bad_reward_names_its_file() -> None:
    assert sorted(readable(*entry) for entry in recorded("08-garbage-reward")) == [
        "The tests left /logs/verifier/reward.txt empty",
        "What the tests wrote to /logs/verifier/reward.json is no reward",
        "What the tests wrote to /logs/verifier/reward.txt is no reward",
    ]


def test_a_failed_build_begins_with_its_end() -> None:
    ((kind, message),) = recorded("09-broken-build")
    lines = readable(kind, message).splitlines()
    assert lines[0].startswith("exit code 2: \x1b[0mThe command '/bin/sh -c echo")
    assert lines[1] == "stdout:"
    assert lines[-1].startswith("command: docker compose --project-name")


@pytest.mark.parametrize("kind", ["NonZeroAgentExitCodeError", "NetworkConnectionError"])
def test_a_failed_command_begins_with_the_end_of_what_it_printed(kind: str) -> None:
    message = "Command failed (exit 6): set -e;\ncurl x\nstdout: a\nb\nstderr: trying\ncurl: (6) Could not resolve host"
    assert readable(kind, message).splitlines() == [
        "exit code 6: curl: (6) Could not resolve host",
        "stderr:",
        "trying",
        "curl: (6) Could not resolve host",
        "stdout:",
        "a",
        "b",
        "command: set -e;",
        "curl x",
    ]
    silent = "Command failed (exit 1): false\nstdout: None\nstderr: None"
    assert readable(kind, silent).splitlines() == ["exit code 1: it printed nothing", "command: false"]


def test_a_task_without_an_environment_is_told_what_to_add() -> None:
    message = "Task environment directory /w/tasks/x/environment has no environment definition. Set docker_image in"
    assert "Add environment/Dockerfile" in readable("FileNotFoundError", message)


@pytest.mark.parametrize(
    "message", ["", "the planner returned no plan", "No reward file found", "Command failed (exit 1): cut"]
)
def test_other_messages_stay_as_they_are(message: str) -> None:
    assert readable("RewardFileNotFoundError", message) == message


def test_places_of_the_machine_are_left_out() -> None:
    trial, attempts = Path("/srv/oddish/work/w1/t-0.1/t-0.1"), Path("/srv/oddish/work/w1/t-0.1")
    text = f"No {trial}/verifier/reward.txt in {trial}, see {attempts}/log and /srv/oddish/other"
    assert without_places(text, [attempts, trial]) == ("No verifier/reward.txt in ., see log and /srv/oddish/other")
