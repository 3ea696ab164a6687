"""What a path holds, and the trials in it."""

import json
import shutil
from pathlib import Path
from typing import Any

import click
import pytest

from oddish.cli.counter import Lines
from oddish.cli.jobs import JobTrial, TaskOfTrial, Unusable, kind_of, trials_below
from oddish.client.trialarchive import trial_files
from support.harbor_jobs import DATA, JOBS, TRIALS


def found(path: Path) -> tuple[list[JobTrial], list[Unusable]]:
    everything = list(trials_below(path))
    ended = [one for one in everything if isinstance(one, JobTrial)]
    return ended, [one for one in everything if isinstance(one, Unusable)]


def test_all_recorded_trials_are_found_with_their_tasks() -> None:
    assert kind_of(JOBS) == "jobs"
    trials, unusable = found(JOBS)
    assert {(trial.job, trial.name) for trial in trials} == {(row.job, row.name) for row in TRIALS if row.has_result}
    assert [(one.job, one.name, one.unfinished) for one in unusable] == [("13-killed", "slow-count__pv9TXR5", True)]
    assert len({trial.external_id for trial in trials}) == len(trials)
    tasks = {(row.job, row.name): row.task.removeprefix("fixtures/") for row in TRIALS}
    assert all(trial.task.name == tasks[trial.job, trial.name] for trial in trials)
    assert trials[0].task == TaskOfTrial("hello-world", "fixtures/hello-world", "/data/tasks/hello-world")


def test_a_job_a_trial_and_a_task_are_told_apart(tmp_path: Path) -> None:
    job = JOBS / "13-killed"
    (tmp_path / "latest").symlink_to(job)
    assert {kind_of(path) for path in (job, job / "slow-count__57TFSmc", tmp_path / "latest")} == {"jobs"}
    assert {kind_of(path) for path in (DATA / "tasks", DATA / "tasks" / "hello-world")} == {"tasks"}
    assert [trial.job for trial in found(job / "slow-count__57TFSmc")[0]] == ["13-killed"]
    bare = shutil.copytree(job, tmp_path / "bare")
    for file in bare.glob("*.*"):
        file.unlink()
    assert kind_of(bare) == "jobs", "a job that was killed at once has no files of its own"
    assert kind_of(tmp_path) == "jobs"
    (tmp_path / "other").mkdir()
    for path, reason in ((tmp_path / "other", "neither a task nor a Harbor job"), (tmp_path / "no", "not exist")):
        with pytest.raises(click.UsageError, match=reason):
            kind_of(path)
    with pytest.raises(click.UsageError, match="is a file"):
        kind_of(job / "config.json")


def test_odd_trials_are_named_with_what_is_odd(tmp_path: Path) -> None:
    job = tmp_path / "job"
    for name, content in {"broken": "{", "other": '{"stats": {}}', "old": None}.items():
        (job / name).mkdir(parents=True)
        record: dict[str, Any] = {"task_name": "org/greet", "config": {"task": {"path": "t/x", "git_url": "https://g"}}}
        (job / name / "result.json").write_text(content or json.dumps(record))
    (job / "early" / "agent").mkdir(parents=True)
    (job / "notes").mkdir()
    (job / "linked").symlink_to(JOBS / "01-hello-oracle" / TRIALS[0].name)
    (job / "result.json").write_text('{"n_total_trials": 4}')
    trials, unusable = found(job)
    assert {(one.name, one.unfinished): one.reason for one in unusable} == {
        ("broken", False): "its result.json is malformed",
        ("other", False): "its result.json is no record of a trial",
        ("early", True): "it has no result.json: it was interrupted, or has not ended",
    }
    old = next(trial for trial in trials if trial.name == "old")
    assert old.task == TaskOfTrial("x", "org/greet", None), "a path in a repository is none here"
    assert old.external_id.startswith("sha256:")


def test_links_and_what_no_archive_can_carry_stay_behind(tmp_path: Path) -> None:
    trial = shutil.copytree(JOBS / "14a-terminus2-solved" / "greet-script__GDNaiHE", tmp_path / "trial")
    (trial / "agent" / "latest").symlink_to("/etc/passwd")
    (trial / "agent" / "all").symlink_to("/etc")
    (trial / "agent" / "new\nline").write_text("x")
    everything = trial_files(trial)
    assert everything.left_out == 3
    assert {path for path, _ in everything.files} == {
        str(path.relative_to(trial)) for path in trial.rglob("*") if path.is_file() and not path.is_symlink()
    } - {"agent/new\nline"}
    records = trial_files(trial, records_only=True)
    assert {path for path, _ in records.files} == {
        "config.json",
        "result.json",
        "verifier/ctrf.json",
        "verifier/reward.txt",
    }


def test_without_a_terminal_there_is_a_line_now_and_then() -> None:
    now, lines = [0.0], list[str]()
    counter = Lines(100, "trial", write=lines.append, clock=lambda: now[0])
    for seconds in (1.0, 6.0, 7.0, 20.0):
        now[0] = seconds
        counter.advance(25)
    assert lines == ["50 of 100 trials, about 6s left"]
