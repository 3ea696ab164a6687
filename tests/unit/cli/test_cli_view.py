"""``oddish view --check``: what it says of a directory, and its exit code."""

import json
from pathlib import Path

from click.testing import CliRunner, Result

from oddish.cli import cli
from support.results import DATASET, KEY, PROJECT, RUN, STEP, TRACE, TRACE_DOCUMENT, cell, dataset, example, write


def view(*words: str, data_dir: Path | None = None) -> Result:
    return CliRunner().invoke(cli, ["view", *words], env={"DATA_DIR": str(data_dir) if data_dir else None})


def test_a_directory_as_the_contract_has_it_is_fine(tmp_path: Path) -> None:
    write(tmp_path, "projects/data-agent/project.json", PROJECT)
    write(tmp_path, f"{DATASET}/summary.json", dataset({KEY: cell([None, 1.0])}, {KEY: cell([None])}))
    write(tmp_path, f"{RUN}/run.json", {})
    write(tmp_path, f"{RUN}/train/metrics.jsonl", json.dumps(STEP))
    result = view(str(tmp_path), "--check")
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "data-agent  Data-Agent Bench",
        "  dataset eval-v1: 2 tasks, 2 cells, 3 attempts, 0 traces; pass@1 0, pass@4 1 (1 of 2 cells measured); "
        "1 task without any measured attempt",
        "  run rl-1: 1 step",
        "",
        "1 project: 0 errors, 0 warnings",
    ]


def test_numbers_that_do_not_follow_are_warnings(tmp_path: Path) -> None:
    result = view("--check", data_dir=example(tmp_path))
    assert result.exit_code == 0
    assert f"warning  {DATASET}/summary.json: summary.tasks_total: is 50; by the tasks it is 1." in result.output


def test_an_experimental_harness_without_caveats_is_an_error(tmp_path: Path) -> None:
    support = {"opencode": {"tier": "experimental"}}
    write(example(tmp_path), "projects/data-agent/project.json", PROJECT | {"support": support})
    result = view(str(tmp_path), "--check", "--json")
    assert result.exit_code == 1
    document = json.loads(result.output)
    assert (document["version"], document["ok"]) == (1, False)
    (found,) = [finding for finding in document["findings"] if finding["level"] == "error"]
    assert found["place"] == "projects/data-agent/project.json: support.opencode"
    (entry,) = document["projects"][0]["datasets"]
    assert (entry["pass@1"], entry["pass@4"], entry["cells"], entry["measured_cells"]) == (0, 1, 1, 1)


def test_traces_are_read_and_compared_with_their_attempts(tmp_path: Path) -> None:
    attempts = [
        {"attempt": number, "reward": 0.0, "trace": trace}
        for number, trace in enumerate(["../x.json", "gone.json", TRACE], start=1)
    ]
    write(example(tmp_path), f"{DATASET}/summary.json", dataset({KEY: cell([]) | {"attempts": attempts}}))
    write(tmp_path, f"{DATASET}/{TRACE}", TRACE_DOCUMENT | {"task_id": "task-0", "reward": 1.0, "attempt": 3})
    document = json.loads(view(str(tmp_path), "--check", "--json").output)
    said = [(finding["level"], finding["found"]) for finding in document["findings"]]
    assert len(said) == 3
    assert said[0][0] == "error"
    assert "leads out" in said[0][1]
    assert said[1] == ("warning", "gone.json is missing.")
    assert said[2] == ("warning", f"{TRACE} has the reward 1.0, the attempt 0.0.")


def test_a_directory_without_projects_is_an_error(tmp_path: Path) -> None:
    result = view(str(tmp_path), "--check")
    assert result.exit_code == 1
    assert "error    projects: holds no project." in result.output


def test_what_files_hold_does_nothing_to_the_terminal(tmp_path: Path) -> None:
    write(tmp_path, "projects/p/project.json", {"project_id": "p", "label": "\x1b[31mred\nlines"})
    assert "p  red lines" in view(str(tmp_path), "--check").output.splitlines()


def test_a_command_line_without_a_directory_cannot_be_understood(tmp_path: Path) -> None:
    assert view("--check").exit_code == 2
    assert view(str(tmp_path / "absent"), "--check").exit_code == 2
