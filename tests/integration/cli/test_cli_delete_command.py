"""``oddish delete`` against a server that speaks the wire format."""

import json
from typing import Any

import pytest

TASK = "greet-1a2b3c4d"
EXPERIMENT = "calm-fern-0001"


@pytest.fixture(autouse=True)
def greet(server: Any) -> Any:
    task = server.add_task(TASK, experiment_name=EXPERIMENT)
    server.add_trial(task, status="success", reward=1.0)
    server.add_trial(task)
    return task


def deleted(server: Any) -> list[str]:
    return [path for method, path, _, _ in server.calls if method == "DELETE"]


def test_a_task_after_asking(server: Any, invoke: Any) -> None:
    declined = invoke("delete", TASK, input="n\n")
    assert (declined.exit_code, "Nothing was deleted." in declined.output, deleted(server)) == (0, True, [])
    result = invoke("delete", TASK, input="y\n")
    assert result.exit_code == 0
    assert f"Delete task {TASK}, all its versions and all their trials?" in result.output
    assert f"Deleted {TASK}." in result.output
    assert deleted(server) == [f"/tasks/{TASK}"]
    assert invoke("delete", TASK, input="").exit_code == 1


def test_an_experiment_and_json_does_not_ask(server: Any, invoke: Any) -> None:
    document = json.loads(invoke("delete", "--experiment", EXPERIMENT, "--json").stdout)
    assert document["message"] == f"Deleted {EXPERIMENT}."
    assert deleted(server) == [f"/experiments/{EXPERIMENT}"]


def test_each_trial_is_deleted_and_one_that_is_refused_leaves_the_others(server: Any, invoke: Any) -> None:
    gone = "/trials/greet-1a2b3c4d-9"
    server.refusals["DELETE", gone] = (404, {"detail": "There is no such trial.", "code": "not_found"})
    names = [f"{TASK}-0", f"{TASK}-9", f"{TASK}-1", f"{TASK}-0"]
    options = [option for name in names for option in ("-t", name)]
    result = invoke("delete", *options, "-y")
    assert (result.exit_code, "There is no such trial." in result.output) == (1, True)
    assert deleted(server) == [f"/trials/{TASK}-0", gone, f"/trials/{TASK}-1"]
    document = json.loads(invoke("delete", *options, "--json").stdout)
    assert (document["deleted"], document["failed"]) == (2, 1)
    assert [(trial["trial_id"], trial["ok"], trial["status"]) for trial in document["trials"]] == [
        (f"{TASK}-0", True, 200),
        (f"{TASK}-1", True, 200),
        (f"{TASK}-9", False, 404),
    ]


def test_an_id_of_something_else_leads_to_the_right_command(invoke: Any) -> None:
    trial = invoke("delete", f"{TASK}-0", input="y\n")
    assert (trial.exit_code, f"oddish delete --trial {TASK}-0" in trial.output) == (1, True)
    experiment = invoke("delete", "calm-fern-0002", "-f")
    assert (experiment.exit_code, "oddish delete --experiment calm-fern-0002" in experiment.output) == (1, True)


@pytest.mark.parametrize("arguments", [[], [TASK, "--experiment", "x"], [TASK, "--trial", f"{TASK}-0"]])
def test_exactly_one_kind_of_thing_is_deleted(server: Any, invoke: Any, arguments: list[str]) -> None:
    assert invoke("delete", *arguments).exit_code == 2
    assert server.calls == []
