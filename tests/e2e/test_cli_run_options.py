"""Options of ``oddish run`` about the engine, on the real local stack."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oddish.variants.building import builder

PROGRAM = [sys.executable, "-c", "from oddish.cli import main; main()"]
TOKEN = "dckr_pat_that-is-left-nowhere"


class Stack:
    """``oddish`` as a process, with a state directory of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def __call__(self, *arguments: str | Path, **variables: str) -> str:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ODDISH_", "PG"))}
        environ = {**kept, "ODDISH_HOME": str(self.home), **variables}
        command = [*PROGRAM, *map(str, arguments)]
        done = subprocess.run(
            command, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def trials(self, experiment: str) -> list[Any]:
        tasks = json.loads(self("status", "-e", experiment, "--json"))
        return [trial for task in tasks for trial in task["trials"]]

    def stored(self, name: str) -> list[Path]:
        return list(self.home.glob(f"**/trials/**/{name}"))


@pytest.fixture(scope="module")
def oddish(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    stack = Stack(tmp_path_factory.mktemp("home"))
    stack("up")
    yield stack
    stack("down")


@pytest.fixture
def hello(examples: Path) -> Path:
    return examples / "hello-world"


def test_a_file_of_the_sandbox_is_kept_and_resources_are_recorded(oddish: Stack, hello: Path) -> None:
    options = ("--override-cpus", "1", "--override-memory-mb", "256", "--force-build")
    oddish("run", hello, "-a", "oracle", "-E", "kept", "--artifact", "/app/greeting.txt", *options)
    [trial] = oddish.trials("kept")
    assert (trial["status"], trial["reward"]) == ("success", 1.0), trial["error_message"]
    assert trial["harbor_config"] == {
        "artifacts": ["/app/greeting.txt"],
        "environment": {"override_cpus": 1, "override_memory_mb": 256, "force_build": True},
    }
    [kept] = oddish.stored("artifacts/app/greeting.txt")
    assert kept.read_text()


def test_a_trial_without_verification_does_not_stand_for_a_verified_one(oddish: Stack, hello: Path) -> None:
    oddish("run", hello, "-a", "oracle", "-E", "both", "--disable-verification")
    oddish("run", hello, "-a", "oracle", "-E", "both")
    assert "Nothing to start" in oddish("run", hello, "-a", "oracle", "-E", "both")
    assert [trial["reward"] for trial in oddish.trials("both")] == [None, 1.0]


def test_a_registry_login_that_nothing_needs_is_left_nowhere(oddish: Stack, hello: Path) -> None:
    shell = {"ODDISH_DOCKERHUB_USERNAME": "acme", "ODDISH_DOCKERHUB_TOKEN": TOKEN}
    output = oddish("run", hello, "-a", "oracle", "-E", "signed-in", **shell)
    assert TOKEN not in output
    found = [path for path in oddish.home.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
    assert found == []


@pytest.mark.skipif(builder() is None, reason="There is no uv to install another Harbor with.")
def test_another_harbor_runs_the_trial_and_status_says_so(oddish: Stack, hello: Path) -> None:
    oddish("run", hello, "-a", "oracle", "-E", "older", ODDISH_HARBOR="0.25.0")
    [trial] = oddish.trials("older")
    assert (trial["status"], trial["reward"], trial["harbor_sha"]) == ("success", 1.0, "0.25.0")
    assert re.search(r"^ *Harbor +0\.25\.0 *$", oddish("status", trial["id"]), re.MULTILINE)
