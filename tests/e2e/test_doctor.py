"""The doctor on this machine, which can run trials: the tests beside this one do."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from oddish import __version__
from support import ordinary_user

OURS = {name: value for name, value in os.environ.items() if not name.startswith(("ODDISH_", "PG"))}


def run(command: list[str], **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=OURS | environ, capture_output=True, text=True, check=False, timeout=120)


def oddish(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run([sys.executable, "-c", "from oddish.cli import main; main()", *arguments], ODDISH_HOME=str(home))


def findings(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {finding["subject"]: finding for finding in document["findings"]}


def test_this_machine_can_run_trials_and_looking_leaves_nothing(tmp_path: Path) -> None:
    answer = oddish(tmp_path / "home", "doctor", "--json")
    document = json.loads(answer.stdout)
    assert (answer.returncode, document["ok"]) == (0, True), answer.stdout
    found = findings(document)
    for subject in ("Python", "Harbor", "Local sandbox", "PostgreSQL programs", "PostgreSQL account", "Object store"):
        assert found[subject]["level"] == "ok", found[subject]
    assert "local" in found["Trials"]["found"]
    assert list(tmp_path.iterdir()) == []


def test_a_running_stack_is_looked_at_from_all_sides(tmp_path: Path) -> None:
    home = tmp_path / "home"
    try:
        started = oddish(home, "up", "--json")
        assert started.returncode == 0, started.stdout
        answer = oddish(home, "doctor", "--json")
    finally:
        stopped = oddish(home, "down", "--json")
    up, down = json.loads(started.stdout), json.loads(stopped.stdout)
    assert (up["version"], up["pid"], down["killed"]) == (__version__, down["pid"], [])
    assert answer.returncode == 0, answer.stdout
    found = findings(json.loads(answer.stdout))
    for subject in ("Local stack", "Database", "Server", "Key", "Secret key", "Local key", "State directory"):
        assert found[subject]["level"] == "ok", found[subject]
    assert __version__ in found["Server"]["found"]


def test_an_ordinary_user_is_told_of_user_namespaces() -> None:
    answer = run(ordinary_user.command("ordinary_doctor"), PYTHONPATH=str(Path(__file__).parents[1]))
    assert answer.returncode == 0, answer.stderr
    document = json.loads(answer.stdout)
    found = findings(document)
    assert document["uid"] != 0
    assert found["User namespaces"]["found"] == "allowed"
    assert found["Local sandbox"]["level"] == found["Overlay mounts"]["level"] == "ok", found
    assert "read-only" in found["Local sandbox"]["found"]
    assert found["State directory"]["level"] == "ok"
