"""``oddish check`` with real trials in the local sandbox."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

PROGRAM = [sys.executable, "-c", "from oddish.cli import main; main()"]

type Check = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture(scope="module")
def check(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Check]:
    """The exit code and the document of ``oddish check``, with a stack of the module's own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ODDISH_", "PG"))}
    environ = kept | {"ODDISH_HOME": str(tmp_path_factory.mktemp("home"))}

    def oddish(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*PROGRAM, *map(str, arguments)], env=environ, capture_output=True, text=True, check=False, timeout=240
        )

    def run(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
        ended = oddish("check", *arguments, "--env", "local", "--json")
        assert ended.returncode in (0, 1, 3), ended.stderr
        return ended.returncode, json.loads(ended.stdout)

    yield run
    assert oddish("down").returncode == 0


def by_name(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {task["name"]: task for task in document["tasks"]}


def results(task: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {check["name"]: check for check in task["checks"]}


def test_the_examples_are_what_their_page_says(check: Check, examples: Path) -> None:
    code, document = check(examples)
    tasks = by_name(document)
    assert code == 1
    assert {name: task["verdict"] for name, task in tasks.items()} == {
        "broken-oracle": "unsound",
        "csv-report": "sound",
        "hello-world": "sound",
        "partial-credit": "unsound",
        "two-steps": "sound",
    }
    assert "0.75 in each of 2 trials" in results(tasks["partial-credit"])["oracle"]["found"]
    assert "0 in each of 2 trials" in results(tasks["broken-oracle"])["oracle"]["found"]
    assert {check["result"] for check in tasks["hello-world"]["checks"]} == {"ok"}
    assert {results(task)["agreement"]["result"] for task in tasks.values()} == {"ok"}
    assert [(trial["agent"], trial["reward"]) for trial in tasks["hello-world"]["trials"]].count(("nop", 0)) == 2


def test_faults_that_only_trials_show(check: Check, make_task: Callable[..., Path]) -> None:
    broken = make_task("no-build", solve="true")
    (broken / "environment" / "Dockerfile").write_text("FROM debian:bookworm-slim\nRUN exit 7\n")
    code, document = check(
        broken,
        make_task("given-away", solve="true"),
        make_task("no-reward", solve="true", test="touch /logs/verifier/reward.tx"),
        make_task("unsteady", solve="true", test="date +0.%N > /logs/verifier/reward.txt"),
    )
    tasks = by_name(document)
    assert code == 1
    assert {task["verdict"] for task in tasks.values()} == {"unsound"}
    assert "code 7" in results(tasks["no-build"])["oracle"]["found"]
    assert "1 in each of 2 trials" in results(tasks["given-away"])["nop"]["found"]
    assert results(tasks["given-away"])["oracle"]["result"] == "ok"
    assert "reward" in results(tasks["no-reward"])["nop"]["found"].lower()
    assert results(tasks["unsteady"])["agreement"]["result"] == "failed"


def test_what_needs_a_container_engine_is_refused_before_anything_runs(
    check: Check, make_task: Callable[..., Path]
) -> None:
    task = make_task("staged", solve="true")
    (task / "environment" / "Dockerfile").write_text("FROM debian AS a\nFROM debian\nCOPY --from=a /etc/hosts /app/\n")
    code, document = check(task)
    assert (code, document["experiment"]) == (1, None)
    assert results(by_name(document)["staged"])["environment"]["result"] == "failed"
