"""How commands end: the exit code, what is on standard output, and who has stopped listening."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from oddish.cli import watch

PROGRAM = [sys.executable, "-c", "from oddish.cli import main; main()"]


@pytest.fixture(autouse=True)
def quick_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "QUICKEST", 0.01)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["run", "--json", "--priority", "urgent"], "'urgent' is not one of"),
        (["run", "--json"], "Name a task"),
        (["run", "x", "--json", "--n-trials"], "--n-trials"),
        (["status", "--json", "a", "-e", "b"], "not both"),
        (["cancel", "--json"], "Name a task or a trial"),
        (["nonsense", "--json"], "nonsense"),
        (["--json"], "--json"),
    ],
)
def test_a_usage_error_is_a_document_under_json_and_ends_with_2(
    server: Any, invoke: Any, arguments: list[str], named: str
) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    document = json.loads(result.stdout)
    assert set(document) == {"error", "code", "fix"}
    assert named in document["error"]
    assert document["code"] == "usage"
    assert result.stderr == ""


def test_a_usage_error_shows_the_usage(server: Any, invoke: Any) -> None:
    result = invoke("run", "--n-trials", "x")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Usage: cli run" in result.stderr
    assert "'x' is not a valid integer" in result.stderr


@pytest.mark.parametrize("as_json", [False, True])
def test_an_interrupted_command_ends_with_130(
    server: Any, invoke: Any, monkeypatch: pytest.MonkeyPatch, as_json: bool
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("oddish.client.client.Client.health", interrupt)
    result = invoke("status", *(["--json"] if as_json else []))
    assert result.exit_code == 130
    if as_json:
        assert json.loads(result.stdout) == {"error": "Interrupted.", "code": "interrupted"}
    else:
        assert (result.stdout, result.stderr.strip()) == ("", "Interrupted.")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"status": "success", "reward": 0.0}, 0),
        ({"status": "success", "harbor_config": {"verifier": {"disable": True}}}, 0),
        ({"status": "failed", "reward": 1.0}, 1),
        ({"status": "failed", "harbor_stage": "cancelled"}, 1),
        ({"status": "skipped"}, 1),
    ],
)
def test_a_watch_that_was_left_and_resumed_ends_with_the_code_of_the_run(
    server: Any, invoke: Any, make_task_dir: Any, monkeypatch: pytest.MonkeyPatch, changes: dict[str, object], code: int
) -> None:
    finish = lambda fake: [trial.update(changes) for trial in fake.trials()]  # noqa: E731
    server.tick = finish
    assert invoke("run", make_task_dir("watched"), "-a", "oracle", "-E", "watched").exit_code == code
    server.tick = lambda fake: None
    assert invoke("run", make_task_dir("left"), "-a", "oracle", "-E", "resumed", "-b").exit_code == 0

    def leave(seconds: float) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(watch, "time", SimpleNamespace(sleep=leave, monotonic=lambda: 0.0))
        assert invoke("status", "-e", "resumed", "--watch").exit_code == 130
    server.tick = finish
    assert invoke("status", "-e", "resumed", "--watch").exit_code == code
    assert invoke("status", "-e", "resumed").exit_code == 0


@pytest.mark.parametrize("name", ["run", "status"])
def test_the_help_lists_the_exit_codes(invoke: Any, name: str) -> None:
    text = invoke(name, "--help").output
    _, _, codes = text.partition("Exit codes:\n")
    assert [line.split()[0] for line in codes.splitlines() if line[:6].strip()] == ["0", "1", "2", "130"]


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["status"], ["status", "--json"], ["status", "greet-1a2b3c4d"], ["status", "greet-1a2b3c4d", "-w"]],
)
def test_a_closed_pipe_is_no_news(server: Any, arguments: list[str]) -> None:
    server.add_trial(server.add_task("greet-1a2b3c4d"), status="success", reward=1.0)
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as output:
        ended = subprocess.run([*PROGRAM, *arguments], stdout=output, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.stderr == ""
    assert ended.returncode == 1


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--json"], ["status"], ["status", "--json"], ["status", "nothing-1a2b3c4d", "--json"]],
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_cannot_be_written_is_told_in_a_sentence(
    server: Any, arguments: list[str], unbuffered: str
) -> None:
    server.add_trial(server.add_task("greet-1a2b3c4d"), status="success", reward=1.0)
    environ = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("wb") as output:
        ended = subprocess.run(
            [*PROGRAM, *arguments], env=environ, stdout=output, stderr=subprocess.PIPE, text=True, check=False
        )
    said, fix = ended.stderr.splitlines()
    assert said == "Error: Standard output cannot be written: No space left on device."
    assert fix.startswith("Fix: ")
    assert ended.returncode == 1


def test_a_name_that_the_terminal_cannot_show_stops_nothing(server: Any) -> None:
    server.add_trial(server.add_task("naïve-1a2b3c4d", experiment_name="长"), status="success", reward=1.0)
    environ = os.environ | {"PYTHONIOENCODING": "ascii"}
    ended = subprocess.run(
        [*PROGRAM, "status", "-e", "长"], env=environ, capture_output=True, text=True, check=False, cwd=Path("/")
    )
    assert ended.returncode == 0, ended.stderr
    assert "1/1 done: 1 success" in ended.stdout
