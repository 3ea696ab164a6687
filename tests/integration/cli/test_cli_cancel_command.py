"""``oddish cancel`` against a server that speaks the wire format."""

import json
from typing import Any

import pytest

TASK = "greet-1a2b3c4d"


@pytest.fixture(autouse=True)
def greet(server: Any) -> Any:
    task = server.add_task(TASK, experiment_name="calm-fern-0001")
    server.add_trial(task, status="success", reward=1.0)
    server.add_trial(task, status="running")
    server.add_trial(task)
    return task


def statuses(server: Any) -> list[str]:
    return [trial["status"] for trial in server.trials()]


def test_a_task_after_asking(server: Any, invoke: Any) -> None:
    result = invoke("cancel", TASK, input="y\n")
    assert result.exit_code == 0
    assert f"Cancel 2 unfinished trials of {TASK}?" in result.output
    assert f"2 trials of {TASK} cancelled." in result.output
    assert server.bodies("POST", "/tasks/cancel") == [{"task_ids": [TASK]}]
    assert statuses(server) == ["success", "failed", "failed"]


def test_declining_changes_nothing_and_is_no_error(server: Any, invoke: Any) -> None:
    result = invoke("cancel", TASK, input="n\n")
    assert result.exit_code == 0
    assert "Nothing was cancelled." in result.output
    assert statuses(server) == ["success", "running", "queued"]


def test_nobody_to_ask(server: Any, invoke: Any) -> None:
    result = invoke("cancel", TASK, input="")
    assert result.exit_code == 1
    assert "--force" in result.output
    assert statuses(server) == ["success", "running", "queued"]


@pytest.mark.parametrize("flag", ["-f", "--force", "-y", "--yes"])
def test_one_trial(server: Any, invoke: Any, flag: str) -> None:
    assert invoke("cancel", f"{TASK}-1", flag).exit_code == 0
    assert server.bodies("POST", "/tasks/cancel") == [{"task_ids": [], "trial_ids": [f"{TASK}-1"]}]
    assert statuses(server) == ["success", "failed", "queued"]


@pytest.mark.parametrize("flags", [[], ["-f"]])
def test_nothing_is_left_to_cancel(server: Any, invoke: Any, flags: list[str]) -> None:
    invoke("cancel", TASK, "-f")
    result = invoke("cancel", TASK, *flags)
    assert result.exit_code == 0
    assert result.output == f"Nothing of {TASK} was queued or running.\n"


def test_an_experiment(server: Any, invoke: Any) -> None:
    assert invoke("cancel", "--experiment", "calm-fern-0001", "--force").exit_code == 0
    assert server.bodies("POST", "/tasks/cancel") == [{"task_ids": [], "experiment_id": "calm-fern-0001"}]


def test_json_does_not_ask(server: Any, invoke: Any) -> None:
    result = invoke("cancel", TASK, "--json")
    assert json.loads(result.stdout)["trials_cancelled"] == 2


def test_what_is_not_there(server: Any, invoke: Any) -> None:
    result = invoke("cancel", "nowhere-1", "-f")
    assert result.exit_code == 1
    assert "'nowhere-1' is no task or trial here." in result.output
    assert "--experiment" in result.output


@pytest.mark.parametrize("arguments", [[], [TASK, "--experiment", "x"]])
def test_exactly_one_thing_is_cancelled(invoke: Any, arguments: list[str]) -> None:
    assert invoke("cancel", *arguments).exit_code == 2
