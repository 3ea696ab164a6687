"""The local environment as an ordinary user has it."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support import ordinary_user


@pytest.fixture(scope="module")
def outcome() -> dict[str, Any]:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run(
        ordinary_user.command("ordinary_environment"),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_it_is_supported_without_privileges(outcome: dict[str, Any]) -> None:
    assert not outcome["privileged"]
    assert outcome["reason"] is None


def test_commands_run_as_root_on_what_the_dockerfile_made(outcome: dict[str, Any]) -> None:
    first = outcome["first"].split()
    assert first[0] == "0"
    assert first[-5:] == ["data", "data", "agent", "artifacts", "verifier"]


def test_finished_steps_are_used_again_unchanged(outcome: dict[str, Any]) -> None:
    assert outcome["first"] == outcome["second"]


def test_files_travel(outcome: dict[str, Any]) -> None:
    assert outcome["downloaded"] == ["Dockerfile", "data.txt"]


def test_the_system_is_read_only_and_the_message_says_what_to_do(outcome: dict[str, Any]) -> None:
    assert "line 2" in outcome["system"]
    assert "run the worker as root or use docker" in outcome["system"]


def test_other_users_are_refused_with_the_fix(outcome: dict[str, Any]) -> None:
    assert "'daemon'" in outcome["somebody"]
    assert "Run the worker as root" in outcome["somebody"]


def test_only_the_layer_and_the_copied_libraries_are_left(outcome: dict[str, Any]) -> None:
    assert outcome["left"] == ["layers", "libraries"]
