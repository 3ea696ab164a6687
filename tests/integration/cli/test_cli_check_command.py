"""``oddish check`` with a small server that decides what the trials earn."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import NOW, FakeServer, Invoke

REWARDS = {"oracle": 1.0, "nop": 0.0}


@pytest.fixture
def make_sound_task(make_task_dir: Callable[..., Path]) -> Callable[..., Path]:
    def make(name: str = "greet", **changes: str | None) -> Path:
        return make_task_dir(name, **({"solution/solve.sh": "echo hello\n"} | changes))

    return make


def earning(rewards: dict[str, float], **changes: object) -> Callable[[FakeServer], None]:
    """All trials end at once; ``changes`` are those of every trial."""

    def tick(server: FakeServer) -> None:
        for trial in server.trials():
            reward = rewards[trial["agent"]]
            ended = {"status": "success", "reward": reward, "rewards": {"reward": reward}, "reasons": []}
            trial.update(ended | {"started_at": NOW, "finished_at": NOW} | changes)

    return tick


def results(document: dict[str, Any], index: int = 0) -> dict[str, str]:
    return {check["name"]: check["result"] for check in document["tasks"][index]["checks"]}


def test_a_sound_task_ends_with_0_and_a_table(
    server: FakeServer, invoke: Invoke, make_sound_task: Callable[..., Path]
) -> None:
    server.tick = earning(REWARDS)
    result = invoke("check", make_sound_task())
    assert result.exit_code == 0, result.output
    assert "greet  sound" in result.output
    assert "doing nothing earned 0 in each of 2 trials" in result.output
    assert result.output.splitlines()[-1] == "greet: sound"


def test_all_trials_are_one_experiment_with_few_attempts(
    server: FakeServer, invoke: Invoke, make_sound_task: Callable[..., Path]
) -> None:
    server.tick = earning(REWARDS)
    tasks = [make_sound_task("one"), make_sound_task("two")]
    document = json.loads(invoke("check", *tasks, "--repeat", "3", "-e", "docker", "--json").output)
    bodies = server.bodies("POST", "/tasks/sweep")
    assert {body["experiment_id"] for body in bodies} == {document["experiment"]["name"]}
    assert document["experiment"]["name"].startswith("check-")
    expected = [{"agent": agent, "model": None, "n_trials": 3, "environment": "docker"} for agent in ("oracle", "nop")]
    assert [body["configs"] for body in bodies] == [expected, expected]
    assert {body["max_trial_attempts"] for body in bodies} == {2}
    assert [len(task["trials"]) for task in document["tasks"]] == [6, 6]


def test_the_document_has_everything(server: FakeServer, invoke: Invoke, make_sound_task: Callable[..., Path]) -> None:
    server.tick = earning({"oracle": 0.75, "nop": 0.0})
    task = make_sound_task()
    result = invoke("check", task, "--json")
    document = json.loads(result.stdout)
    assert result.exit_code == 1
    assert set(document) == {"version", "verdict", "experiment", "repeat", "tasks"}
    assert (document["version"], document["verdict"], document["repeat"]) == (1, "unsound", 2)
    (entry,) = document["tasks"]
    assert set(entry) == {"path", "name", "task_id", "verdict", "checks", "trials"}
    assert (entry["path"], entry["name"], entry["verdict"]) == (str(task), "greet", "unsound")
    assert entry["task_id"] in server.tasks
    assert all(set(check) == {"name", "result", "found", "fix"} for check in entry["checks"])
    fields = {"id", "agent", "environment", "status", "reward", "rewards", "error"}
    assert [set(trial) for trial in entry["trials"]] == [fields] * 4
    assert results(document)["oracle"] == "failed"
    assert results(document)["agreement"] == "ok"


def test_without_trials_no_server_is_asked(
    server: FakeServer, invoke: Invoke, make_sound_task: Callable[..., Path]
) -> None:
    result = invoke("check", make_sound_task(), "--skip-trials", "--json")
    document = json.loads(result.output)
    assert (result.exit_code, document["experiment"], document["tasks"][0]["trials"]) == (0, None, [])
    assert not {"oracle", "nop", "trials"} & set(results(document))
    assert server.calls == []


def test_a_task_that_cannot_be_sent_does_not_keep_others_from_being_checked(
    server: FakeServer, invoke: Invoke, make_sound_task: Callable[..., Path], tmp_path: Path
) -> None:
    server.tick = earning(REWARDS)
    make_sound_task("broken", **{"instruction.md": None})
    make_sound_task("fine")
    result = invoke("check", tmp_path, "--json")
    document = json.loads(result.output)
    assert result.exit_code == 1
    assert {task["name"]: task["verdict"] for task in document["tasks"]} == {"broken": "unsound", "fine": "sound"}
    assert results(document) == {"structure": "failed"}
    text = invoke("check", tmp_path, "--skip-trials")
    assert text.output.splitlines()[-1] == "2 tasks: 1 sound, 1 unsound (broken)"


def test_without_a_solution_only_nop_runs(
    server: FakeServer, invoke: Invoke, make_task_dir: Callable[..., Path]
) -> None:
    server.tick = earning(REWARDS)
    result = invoke("check", make_task_dir(), "--json")
    document = json.loads(result.output)
    assert result.exit_code == 1
    assert {trial["agent"] for trial in document["tasks"][0]["trials"]} == {"nop"}
    assert (results(document)["solution"], results(document)["nop"]) == ("failed", "ok")
    assert "oracle" not in results(document)


@pytest.mark.parametrize(
    ("status", "code", "exit_code", "result"),
    [
        (400, "invalid_task", 1, "failed"),
        (400, "invalid_input", 3, "unchecked"),
        (401, "unauthenticated", 3, "unchecked"),
    ],
)
def test_a_refusal_is_the_tasks_fault_only_when_the_server_says_so(
    server: FakeServer,
    invoke: Invoke,
    make_sound_task: Callable[..., Path],
    status: int,
    code: str,
    exit_code: int,
    result: str,
) -> None:
    server.refusals["POST", "/tasks/sweep"] = (status, {"detail": "No, because.", "code": code})
    ended = invoke("check", make_sound_task(), "--json")
    assert (ended.exit_code, results(json.loads(ended.output))["trials"]) == (exit_code, result)
    assert "No, because." in ended.output


def test_trials_that_something_else_ended_leave_the_task_unchecked(
    server: FakeServer, invoke: Invoke, make_sound_task: Callable[..., Path]
) -> None:
    server.tick = earning(REWARDS, status="failed", reward=None, reasons=["crashed"], error_message="crashed")
    result = invoke("check", make_sound_task())
    assert result.exit_code == 3
    assert result.output.splitlines()[-1] == "greet: could not be checked"


def test_a_server_that_is_not_there_leaves_everything_unchecked(
    invoke: Invoke, make_sound_task: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODDISH_API_URL", "http://127.0.0.1:1")
    without_key = invoke("check", make_sound_task(), "--json")
    document = json.loads(without_key.output)
    assert (without_key.exit_code, document["verdict"], results(document)["trials"]) == (3, "unchecked", "unchecked")
    assert "ODDISH_API_KEY" in without_key.output


@pytest.mark.parametrize("arguments", [[], ["no-such-directory"], ["--repeat", "0", "."], ["."]])
def test_a_command_line_that_names_no_task_ends_with_2(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert invoke("check", *arguments).exit_code == 2


def test_a_task_that_is_named_twice_is_checked_once(
    server: FakeServer, invoke: Invoke, make_sound_task: Callable[..., Path], tmp_path: Path
) -> None:
    document = json.loads(invoke("check", make_sound_task(), tmp_path, "--skip-trials", "--json").output)
    assert [task["name"] for task in document["tasks"]] == ["greet"]


def test_a_refusal_of_the_first_task_that_would_hold_for_all_ends_the_sending(
    server: FakeServer, invoke: Invoke, make_sound_task: Callable[..., Path]
) -> None:
    server.refusals["POST", "/tasks/sweep"] = (400, {"detail": "No such place.", "code": "unknown_environment"})
    document = json.loads(invoke("check", *map(make_sound_task, ("one", "two", "three")), "--json").output)
    assert len(server.bodies("POST", "/tasks/sweep")) == 1
    assert [results(document, index)["trials"] for index in range(3)] == ["unchecked"] * 3
