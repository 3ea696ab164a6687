"""The example in docs/results.md does what it says."""

import json
import re
from pathlib import Path

import pytest
import reference

PAGE = reference.ROOT / "docs" / "results.md"
TASKS = [
    {"trials": [{"status": "success", "reward": 1.0}, {"status": "success", "reward": 0.0}]},
    {"trials": [{"status": "success", "reward": 1.0}, {"status": "failed", "reward": 0.0}]},
    {"trials": [{"status": "success", "reward": None}, {"status": "running", "reward": None}]},
]


def test_the_way_from_an_experiment_to_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("experiment.json").write_text(json.dumps(TASKS))
    exec(compile(example, str(PAGE), "exec"), {})  # noqa: S102
    printed = capsys.readouterr().out
    assert "mean=0.75" in printed
    assert "tasks=2, left_out=1" in printed
