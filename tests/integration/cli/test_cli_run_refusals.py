"""``oddish run`` that a user or the server got wrong, or that somebody ended half-way."""

import json
from pathlib import Path
from typing import Any

import pytest

from oddish import __version__
from oddish.cli import watch

PROBLEM = {
    "title": "Unprocessable",
    "status": 422,
    "detail": "Agent 'x' is unknown.",
    "code": "unknown_agent",
    "fix": "y",
}


@pytest.fixture(autouse=True)
def quick_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "QUICKEST", 0.01)


def test_a_refusal_of_the_server_is_shown(server: Any, invoke: Any, make_task_dir: Any) -> None:
    server.refusals["POST", "/tasks/sweep"] = (422, PROBLEM)
    result = invoke("run", make_task_dir(), "-a", "x")
    assert result.exit_code == 1
    assert "Error: Agent 'x' is unknown.\nFix: y\n" in result.output


def test_a_refusal_under_json(server: Any, invoke: Any, make_task_dir: Any) -> None:
    server.refusals["POST", "/tasks/sweep"] = (422, PROBLEM)
    result = invoke("run", make_task_dir(), "-a", "x", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {
        "error": "Agent 'x' is unknown.", "code": "unknown_agent", "status": 422, "fix": "y",
    }  # fmt: skip


def test_a_refused_plan_sends_the_first_task_only(server: Any, invoke: Any, make_task_dir: Any, tmp_path: Path) -> None:
    for name in ("a", "bb", "ccc"):
        make_task_dir(name, tmp_path / "set")
    server.refusals["POST", "/tasks/sweep"] = (422, PROBLEM)
    assert invoke("run", tmp_path / "set", "-a", "x").exit_code == 1
    assert len(server.bodies("POST", "/tasks/upload/init")) == 1


def test_a_partly_accepted_dataset_names_what_is_missing(
    server: Any, invoke: Any, make_task_dir: Any, tmp_path: Path
) -> None:
    for name in ("a", "bb"):
        make_task_dir(name, tmp_path / "set")
    server.refusals["PUT", "/blob/bb-00000002"] = (413, {"detail": "The archive is too large."})
    result = invoke("run", tmp_path / "set", "-a", "nop", "-E", "calm-fern-1234")
    assert result.exit_code == 1
    assert "1 task submitted to experiment calm-fern-1234, 1 not:\n  bb: The archive of task bb has " in result.output
    assert " bytes): The archive is too large.\n" in result.output
    fix = result.stderr.partition("Fix: ")[2]
    assert "oddish status -e calm-fern-1234 --watch" in fix
    assert "oddish cancel --experiment calm-fern-1234" in fix
    assert "the same command with -E calm-fern-1234" in fix
    assert fix.rstrip().endswith("to leave them out: -x bb")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Name a task"),
        (["{task}", "--path", "elsewhere"], "give one of them"),
        (["{task}", "--n-trials", "0"], "0 is not in the range"),
        (["{task}", "--n-trials", "many"], "many"),
        (["{task}", "--ae", "NOVALUE"], "NOVALUE has no value in the shell"),
        (["{task}", "--ae", "no value"], "number 1 is 'no value'"),
        (["{task}", "--env-file", "missing.env"], "does not exist"),
        (["{task}", "--ak", "=3"], "number 1 is '=3'"),
        (["{task}", "-b", "--watch"], "exclude each other"),
        (["{task}", "--max-trial-attempts", "0"], "0 is not in the range 1<=x<=100"),
        (["{task}", "--max-trial-attempts", "101"], "101 is not in the range 1<=x<=100"),
        (["{task}", "--max-trial-attempts", "some"], "'some' is not a valid integer"),
        (["{task}", "--priority", "urgent"], "'urgent' is not one of 'low', 'high'"),
        (["{task}", "-P", "LOW"], "'LOW' is not one of 'low', 'high'"),
        (["{task}", "--nonsense"], "nonsense"),
        (
            ["{task}", "-n", "4"],
            "Workers have slots, and models limits: `oddish admin limits set KEY N`. All of Harbor's",
        ),
        (["{task}", "--jobs-dir", "jobs"], "`oddish pull EXPERIMENT` writes them as a job of Harbor's."),
    ],
)
def test_usage_errors_end_with_2(
    server: Any, invoke: Any, make_task_dir: Any, arguments: list[str], message: str
) -> None:
    task = make_task_dir()
    result = invoke("run", *(argument.format(task=task) for argument in arguments))
    assert result.exit_code == 2
    assert message in result.output
    assert server.calls == []


def test_the_same_path_twice_is_no_contradiction(server: Any, invoke: Any, make_task_dir: Any) -> None:
    task = make_task_dir()
    assert invoke("run", task, "-p", f"{task}/.", "-a", "nop", "-b").exit_code == 0


@pytest.mark.parametrize(
    ("changes", "messages"),
    [
        ({"task.toml": "[agent\n"}, ["Task greet", "task.toml", "line 1"]),
        ({"task.toml": "[agent]\ntimeout_sec = 'soon'\n"}, ["Task greet", "timeout_sec"]),
        ({"task.toml": "[verifier]\ntimeout_sec = -5\n"}, ["Task greet", "verifier.timeout_sec is -5", "positive"]),
        ({"instruction.md": None}, ["Task greet", "instruction.md"]),
        ({"tests/test.sh": None}, ["Task greet", "test"]),
        ({"environment/Dockerfile": None}, ["Task greet", "environment"]),
    ],
)
def test_a_bad_task_is_refused_before_anything_is_sent(
    server: Any, invoke: Any, make_task_dir: Any, changes: dict[str, str | None], messages: list[str]
) -> None:
    result = invoke("run", make_task_dir(**changes), "-a", "nop")
    assert result.exit_code == 1, result.output
    for message in messages:
        assert message in result.output
    assert server.calls == []


def test_one_bad_task_stops_the_whole_dataset(server: Any, invoke: Any, make_task_dir: Any, tmp_path: Path) -> None:
    make_task_dir("good", tmp_path / "set")
    make_task_dir("zbad", tmp_path / "set", **{"task.toml": "nonsense"})
    result = invoke("run", tmp_path / "set", "-a", "nop")
    assert result.exit_code == 1
    assert "Task zbad" in result.output
    assert server.calls == []


def test_a_link_out_of_the_task_is_refused(server: Any, invoke: Any, make_task_dir: Any) -> None:
    task = make_task_dir()
    (task / "tests" / "passwd").symlink_to("/etc/passwd")
    result = invoke("run", task, "-a", "nop")
    assert result.exit_code == 1
    assert "tests/passwd" in result.output
    assert server.calls == []


@pytest.mark.parametrize("name", ["run", "check"])
def test_a_path_that_is_not_there(server: Any, invoke: Any, tmp_path: Path, name: str) -> None:
    result = invoke(name, tmp_path / "missing", "--json")
    assert result.exit_code == 2
    document = json.loads(result.stdout)
    assert document["code"] == "usage"
    assert "missing does not exist" in document["error"]


def test_an_empty_dataset(server: Any, invoke: Any, tmp_path: Path) -> None:
    result = invoke("run", tmp_path, "-a", "nop")
    assert result.exit_code == 2
    assert "holds no task" in result.output


def test_filters_that_leave_nothing(server: Any, invoke: Any, make_task_dir: Any) -> None:
    result = invoke("run", make_task_dir(), "-a", "nop", "-t", "zzz*")
    assert result.exit_code == 2
    assert "greet, does not pass -t zzz*." in result.output


def test_filters_that_leave_nothing_of_a_dataset(server: Any, invoke: Any, make_task_dir: Any, tmp_path: Path) -> None:
    for name in ("a", "b"):
        make_task_dir(name, tmp_path / "set")
    result = invoke("run", tmp_path / "set", "-a", "nop", "-t", "zzz*", "-x", "a")
    assert result.exit_code == 2
    assert "None of the 2 tasks in " in result.output
    assert " passes -t zzz* -x a." in result.output
    assert "The tasks are a, b." in result.output


@pytest.mark.parametrize("address", ["https://example.com/my-task", "git://example.com"])
def test_an_address_is_no_path(server: Any, invoke: Any, address: str) -> None:
    result = invoke("run", address, "-a", "nop")
    assert result.exit_code == 2
    assert f"{address} is an address; PATH is a local directory." in result.output
    assert server.calls == []


@pytest.mark.parametrize("path", ["/tasks/upload/init", "/tasks/sweep"])
def test_a_refused_first_task_has_started_nothing(server: Any, invoke: Any, make_task_dir: Any, path: str) -> None:
    server.refusals["POST", path] = (422, {"detail": "There is no agent zzz.", "code": "invalid_input"})
    result = invoke("run", make_task_dir(), "-a", "zzz")
    assert result.exit_code == 1
    assert "There is no agent zzz." in result.stderr
    assert result.output.splitlines()[-1] == "Nothing was started."
    document = json.loads(invoke("run", make_task_dir(), "-a", "zzz", "--json").stdout)
    assert document["error"] == "There is no agent zzz."


def test_an_unclear_end_of_a_submission_is_not_called_nothing(
    server: Any, invoke: Any, make_task_dir: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oddish.client.retry.RetryPolicy.delay", lambda *_: 0.0)
    server.refusals["POST", "/tasks/sweep"] = (504, {})
    result = invoke("run", make_task_dir(), "-a", "nop", "-E", "my experiment")
    assert result.exit_code == 1
    assert "Nothing was started" not in result.output
    assert "It is not known whether trials were started." in result.output
    assert "Run the same command with -E 'my experiment': what was started is not started twice." in result.output
    document = json.loads(invoke("run", make_task_dir(), "-a", "nop", "--json").stdout)
    assert (document["code"], document["status"]) == ("unclear", 503)


def test_a_failed_upload_has_started_nothing(
    server: Any, invoke: Any, make_task_dir: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oddish.client.retry.RetryPolicy.delay", lambda *_: 0.0)
    server.refusals["POST", "/tasks/upload/complete"] = (504, {})
    result = invoke("run", make_task_dir(), "-a", "nop")
    assert result.exit_code == 1
    assert result.output.splitlines()[-1] == "Nothing was started."


@pytest.mark.parametrize(("theirs", "told"), [("9.9.9", True), (__version__, False), (f"{__version__}.post1", False)])
def test_a_server_of_another_release_is_told_of(
    server: Any, invoke: Any, make_task_dir: Any, theirs: str, told: bool
) -> None:
    server.version = theirs
    notice = (
        f"The server is oddish {theirs}, this is {__version__}: what only one of them knows is refused or not shown."
    )
    result = invoke("run", make_task_dir(), "-a", "nop", "-b")
    assert result.exit_code == 0
    assert (notice in result.stderr) is told
    assert (notice in invoke("status").stdout) is told
    assert notice not in invoke("run", make_task_dir(), "-a", "nop", "-b", "-q").output


@pytest.mark.parametrize("status", [404, 401, 503])
def test_a_deployment_that_does_not_tell_its_version_is_used(
    server: Any, invoke: Any, make_task_dir: Any, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setattr("oddish.client.retry.RetryPolicy.delay", lambda *_: 0.0)
    server.refusals["GET", "/health"] = (status, {"detail": "No."})
    assert invoke("run", make_task_dir(), "-a", "nop", "-b").exit_code == 0


@pytest.mark.parametrize("document", [{"status": "UP"}, [], "fine"])
def test_something_else_at_the_address_is_sent_nothing(
    server: Any, invoke: Any, make_task_dir: Any, document: object
) -> None:
    server.refusals["GET", "/health"] = (200, document)
    result = invoke("run", make_task_dir(), "-a", "nop")
    assert result.exit_code == 1
    assert "Check that the address is that of an oddish server" in result.output
    assert [path for _, path, _, _ in server.calls] == ["/health"]


def test_an_absent_server(invoke: Any, make_task_dir: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODDISH_API_KEY", "ok_1")
    monkeypatch.setattr("oddish.client.retry.RetryPolicy.delay", lambda *_: 0.0)
    result = invoke("run", make_task_dir(), "-a", "nop", "--api", "http://127.0.0.1:9")
    assert result.exit_code == 1
    assert "The server at http://127.0.0.1:9 cannot be reached" in result.output
    assert "Fix:" in result.output


def test_a_remote_server_without_a_key(invoke: Any, make_task_dir: Any) -> None:
    result = invoke("run", make_task_dir(), "-a", "nop", "--api", "http://127.0.0.1:9")
    assert result.exit_code == 1
    assert "ODDISH_API_KEY" in result.output


def test_the_current_directory_has_a_name(
    server: Any, invoke: Any, make_task_dir: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(make_task_dir())
    assert invoke("run", ".", "-a", "nop", "-b").exit_code == 0
    assert server.bodies("POST", "/tasks/upload/init")[0]["name"] == "greet"
    Path("instruction.md").unlink()
    assert "Task greet: " in invoke("run", ".", "-a", "nop").output


def test_two_directories_of_one_name(server: Any, invoke: Any, make_task_dir: Any, tmp_path: Path) -> None:
    for name in ("my task", "my-task"):
        make_task_dir(name, tmp_path / "set")
    result = invoke("run", tmp_path / "set", "-a", "nop")
    assert result.exit_code == 1
    assert "are both task my-task" in result.output
    assert server.calls == []


def test_several_bad_tasks_are_listed(server: Any, invoke: Any, make_task_dir: Any, tmp_path: Path) -> None:
    for name in ("a", "b"):
        make_task_dir(name, tmp_path / "set", **{"instruction.md": None})
    result = invoke("run", tmp_path / "set", "-a", "nop")
    assert result.exit_code == 1
    assert "2 of 2 tasks cannot run; nothing was sent." in result.output
    assert server.calls == []
