"""What ``run`` and ``status`` say of the versions of a task."""

import json
from typing import Any

import pytest


@pytest.mark.parametrize(
    ("versions", "others", "said"),
    [
        ((1, None), 0, ""),
        ((2, 2), 3, ""),
        ((3, 2), 0, "Task greet changed: version 2 -> 3\n"),
        ((1, 2), 1, "Task greet changed: version 2 -> 1 (1 trial of other versions in this experiment, not counted)\n"),
    ],
)
def test_a_run_says_that_a_task_has_changed(
    server: Any, invoke: Any, make_task_dir: Any, versions: tuple[int, int | None], others: int, said: str
) -> None:
    server.versions, server.other_version_trials = versions, others
    result = invoke("run", make_task_dir(), "-a", "oracle", "-b")
    assert result.exit_code == 0, result.output
    assert said in result.stderr
    assert ("changed" in result.stderr) == bool(said)
    assert "changed" not in invoke("run", make_task_dir(), "-a", "oracle", "-b", "--quiet").output


@pytest.mark.parametrize(("others", "said"), [(0, ""), (1, "1 trial of other versions is not shown."), (4, "4 trials")])
def test_trials_of_other_versions_are_mentioned(server: Any, invoke: Any, others: int, said: str) -> None:
    task = server.add_task("greet-00000001", other_version_trials=others, trial_version=3)
    server.add_trial(task, status="success", reward=1.0)
    for arguments in (["-e", "calm-fern-0001"], ["greet-00000001"]):
        result = invoke("status", *arguments)
        assert result.exit_code == 0, result.output
        assert said in result.output
        assert ("other versions" in result.output) == bool(others)


def test_experiments_whose_trials_are_all_of_earlier_versions_are_named(server: Any, invoke: Any) -> None:
    experiments = [{"id": "e0000001", "name": "calm-fern-0001"}, {"id": "e0000002", "name": "old-oak-0002"}]
    server.add_trial(server.add_task("greet-00000001", experiments=experiments), status="success", reward=1.0)
    output = invoke("status").output
    assert "\nOnly with trials of earlier versions of their tasks: old-oak-0002\n" in output
    assert json.loads(invoke("status", "--json").stdout)["of_earlier_versions"] == experiments[1:]


def test_a_task_without_trials_is_not_pending(server: Any, invoke: Any) -> None:
    server.add_task("refused-00000001", status="pending")
    waiting = server.add_task("greet-00000002", status="pending")
    server.add_trial(waiting)
    assert "tasks: 1 pending, 1 without trials" in invoke("status", "-v").output
    shown = invoke("status", "refused-00000001").output
    assert shown.splitlines() == ["Task refused-00000001  version 1", "without trials"]
    assert "pending" in invoke("status", "greet-00000002").output
