"""``oddish run`` of many tasks: batches, what is refused of them, and what an old server is sent."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

BATCH = "/tasks/sweep/batch"


@pytest.fixture
def dataset(make_task_dir: Any, tmp_path: Path) -> Path:
    for index in range(12):
        make_task_dir("t" + "x" * index, tmp_path / "set")
    return tmp_path / "set"


def task_ids(submissions: Sequence[Any]) -> list[str]:
    return sorted(submission["task_id"] for submission in submissions)


def in_batches(server: Any) -> list[list[str]]:
    return [task_ids(body["submissions"]) for body in server.bodies("POST", BATCH)]


def all_ids() -> list[str]:
    return sorted(f"t{'x' * index}-{index + 1:08x}" for index in range(12))


def test_after_the_first_task_the_others_go_in_batches(
    server: Any, invoke: Any, dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODDISH_SWEEP_BATCH_MAX_TASKS", "4")
    result = invoke("run", dataset, "-a", "nop", "-b", "--n-trials", "2")
    assert result.exit_code == 0, result.output
    assert "24 trials queued." in result.output
    (first,) = server.bodies("POST", "/tasks/sweep")
    assert first["task_id"] == "t-00000001"
    assert sorted(map(len, in_batches(server))) == [3, 4, 4]
    assert sorted([first["task_id"], *(task_id for batch in in_batches(server) for task_id in batch)]) == all_ids()
    submissions = [entry for body in server.bodies("POST", BATCH) for entry in body["submissions"]]
    assert {entry["experiment_id"] for entry in submissions} == {first["experiment_id"]}
    keys = [headers["idempotency-key"] for _, path, _, headers in server.calls if path == BATCH]
    assert len(set(keys)) == 3
    assert min(map(len, keys)) >= 32


@pytest.mark.parametrize("status", [404, 405])
def test_a_server_without_batches_is_sent_one_at_a_time(server: Any, invoke: Any, dataset: Path, status: int) -> None:
    server.refusals["POST", BATCH] = (status, {"detail": "No."})
    result = invoke("run", dataset, "-a", "nop", "-b")
    assert result.exit_code == 0, result.output
    assert task_ids(server.bodies("POST", "/tasks/sweep")) == all_ids()


def test_what_is_refused_of_a_batch_leaves_the_rest_and_passing_trouble_is_tried_again(
    server: Any, invoke: Any, dataset: Path
) -> None:
    server.refusals["SWEEP", "txx-00000003"] = (422, {"detail": "It has no solution.", "code": "unfit_task"})
    server.refusals["SWEEP", "txxx-00000004"] = (503, {"detail": "Busy.", "code": "unavailable"})
    result = invoke("run", dataset, "-a", "oracle", "-E", "mine")
    assert result.exit_code == 1
    assert "11 tasks submitted to experiment mine, 1 not:\n  txx: It has no solution." in result.output
    assert "-x txx" in result.output
    assert "txxx-00000004" in task_ids(server.bodies("POST", "/tasks/sweep"))
    assert len(server.trials()) == 11


def test_what_would_refuse_every_task_ends_the_sending(server: Any, invoke: Any, dataset: Path) -> None:
    server.refusals["PUT", "/blob/txx-00000003"] = (507, {"detail": "The store is full."})
    result = invoke("run", dataset, "-a", "nop", "--submit-concurrency", "1")
    assert result.exit_code == 1
    assert "txx: The store is full.\n  10 tasks not tried" in result.output
    assert "the same command" in result.output
    assert len(server.bodies("POST", "/tasks/upload/init")) == 3


@pytest.mark.parametrize("batch", ["1", "4"])
def test_a_run_that_reaches_its_cost_limit_meanwhile_says_so_once(
    server: Any, invoke: Any, dataset: Path, monkeypatch: pytest.MonkeyPatch, batch: str
) -> None:
    monkeypatch.setenv("ODDISH_SWEEP_BATCH_MAX_TASKS", batch)
    reached = "The run has cost about $0.70, and its limit is $0.50."
    submit_again = "Submit what is missing again, with a new limit."
    problem = {"detail": reached, "fix": submit_again, "code": "budget_exceeded"}
    for task_id in all_ids()[1:]:
        server.refusals["SWEEP", task_id] = (409, problem)
    model = "anthropic/claude-haiku-4-5"
    options = ("-a", "codex", "-m", model, "--max-cost", "0.5", "--submit-concurrency", "1", "-E", "mine")
    result = invoke("run", dataset, *options)
    assert result.exit_code == 1
    assert f"1 task submitted to experiment mine, 11 not: {reached}\n" in result.output
    assert result.output.count(reached) == 1
    assert f"Fix: {submit_again}" in result.output
    assert "the same command with -E mine" in result.output
    assert "corrected" not in result.output
    assert "-x" not in result.output
    assert len(server.bodies("POST", "/tasks/upload/init")) < 12


def test_an_unclear_batch_says_so_of_its_tasks(
    server: Any, invoke: Any, dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODDISH_SWEEP_BATCH_MAX_TASKS", "100")
    server.refusals["POST", BATCH] = (501, {"detail": "Something between."})
    result = invoke("run", dataset, "-a", "nop", "-b")
    assert result.exit_code == 1
    assert "1 task submitted" in result.output
    assert "tx: Something between. It is not known whether trials were started." in result.output


@pytest.mark.parametrize("size", ["0", "101", "ten", "-1", "1.5"])
def test_an_impossible_size_of_batches_is_named(
    server: Any, invoke: Any, dataset: Path, monkeypatch: pytest.MonkeyPatch, size: str
) -> None:
    monkeypatch.setenv("ODDISH_SWEEP_BATCH_MAX_TASKS", size)
    result = invoke("run", dataset, "-a", "nop", "-b")
    assert result.exit_code == 1
    assert f"ODDISH_SWEEP_BATCH_MAX_TASKS is '{size}'" in result.output
    assert not server.bodies("POST", "/tasks/upload/init")


def test_the_same_command_goes_on_where_some_tasks_were_refused(server: Any, invoke: Any, dataset: Path) -> None:
    refusal = ("SWEEP", "txx-00000003")
    server.refusals[refusal] = (422, {"detail": "It has no solution.", "code": "unfit_task"})
    command = ("run", dataset, "-a", "nop", "-b")
    assert invoke(*command).exit_code == 1
    del server.refusals[refusal]
    again = invoke(*command)
    assert again.exit_code == 0, again.output
    (experiment,) = server.experiments
    assert f"going on in experiment {experiment}" in again.stderr
    assert invoke(*command).exit_code == 0
    assert len(server.experiments) == 2
