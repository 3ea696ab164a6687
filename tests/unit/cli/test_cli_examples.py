"""What the examples' own scripts write, run in a directory instead of a sandbox."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from oddish.cli.selection import select_tasks
from oddish.cli.sweep.sweep import Source

EXAMPLES = Path(__file__).parents[3] / "examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/task.toml"))


class Sandbox:
    """Stands in for the paths of a trial."""

    def __init__(self, root: Path, example: str) -> None:
        self.root, self.example = root, EXAMPLES / example
        self.app, self.verifier = root / "app", root / "logs" / "verifier"
        self.app.mkdir()
        self.verifier.mkdir(parents=True)
        for data in (self.example / "environment").glob("*.csv"):
            (self.app / data.name).write_bytes(data.read_bytes())

    def run(self, script: str) -> None:
        text = (self.example / script).read_text()
        text = text.replace("/app", str(self.app)).replace("/logs", str(self.root / "logs"))
        subprocess.run(["/bin/sh", "-c", text], cwd=self.app, check=True, capture_output=True)

    def json(self, name: str) -> Any:
        return json.loads((self.verifier / name).read_text())


def test_every_example_is_a_valid_task() -> None:
    assert [task.name for task in select_tasks([Source(EXAMPLES)])] == NAMES


@pytest.mark.parametrize("solved", [True, False])
def test_csv_report_writes_a_test_report_and_measurements(tmp_path: Path, solved: bool) -> None:
    sandbox = Sandbox(tmp_path, "csv-report")
    if solved:
        sandbox.run("solution/solve.sh")
    sandbox.run("tests/test.sh")
    report = sandbox.json("ctrf.json")["results"]
    passed = 6 if solved else 0
    counts = {"tests": 6, "passed": passed, "failed": 6 - passed, "pending": 0, "skipped": 0, "other": 0}
    assert {name: value for name, value in report["summary"].items() if name in counts} == counts
    assert report["summary"]["start"] <= report["summary"]["stop"]
    assert [test["status"] for test in report["tests"]] == ["passed" if solved else "failed"] * 6
    assert report["tool"]["name"]
    metrics = sandbox.json("metrics.json")
    assert (metrics["schema_version"], metrics["checks_passed"], metrics["checks_total"]) == (1, passed, 6)
    assert float((sandbox.verifier / "reward.txt").read_text()) == solved


@pytest.mark.parametrize("wrong", ["Lisbon,345,21", "Porto,215,5", "Braga,76,4"])
def test_csv_report_notices_a_wrong_line(tmp_path: Path, wrong: str) -> None:
    sandbox = Sandbox(tmp_path, "csv-report")
    sandbox.run("solution/solve.sh")
    city = wrong.partition(",")[0]
    lines = (sandbox.app / "report.csv").read_text().splitlines()
    changed = [wrong if line.startswith(city) else line for line in lines]
    (sandbox.app / "report.csv").write_text("\n".join(changed) + "\n")
    sandbox.run("tests/test.sh")
    assert (sandbox.verifier / "reward.txt").read_text() == "0\n"


def test_partial_credit_counts_what_is_there_and_what_is_right(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path, "partial-credit")
    sandbox.run("solution/solve.sh")
    (sandbox.app / "roman.txt").write_text("MIM\n")
    sandbox.run("tests/test.sh")
    assert sandbox.json("reward.json") == {"reward": 0.75, "present": 1.0}
