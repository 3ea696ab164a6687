"""``oddish pull`` from a real server: what Harbor wrote comes back so that Harbor reads it as before."""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner, Result
from harbor.viewer.scanner import JobScanner
from harbor.viewer.server import create_app

from oddish.cli import cli, watch
from oddish.tasks.package import content_hash, publish_set
from support.harbor_jobs import JOBS, TRIALS

from .serving import KEY, Server, TaskFolder

type Pull = Callable[..., Result]


@pytest.fixture
def pull(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Pull:
    monkeypatch.setenv("ODDISH_API_URL", server.url)
    monkeypatch.setenv("ODDISH_API_KEY", KEY)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return lambda *arguments: CliRunner().invoke(cli, ["pull", *arguments])


@pytest.fixture
def submit(server: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder]) -> Callable[[int], str]:
    """Makes a task with so many queued trials; its id."""

    def make(trials: int) -> str:
        server.offer()
        task_id = str(new_task("greet").upload(client)["task_id"])
        body = {"task_id": task_id, "configs": [{"agent": "nop", "n_trials": trials}], "experiment_id": "my/run"}
        assert client.post("/tasks/sweep", json=body).status_code == 200
        return task_id

    return make


def finish(server: Server, trial_id: str, epoch: int = 1) -> None:
    server.sql("UPDATE jobs SET state = 'done', finished_at = now() WHERE subject_id = %s", trial_id)
    server.sql("UPDATE trials SET decided_by_epoch = %s WHERE id = %s", epoch, trial_id)


def contents(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }


def totals(document: Mapping[str, Any]) -> tuple[int, int]:
    trials = document["trials"]
    return sum(trial["files_saved"] for trial in trials), sum(trial["files_skipped"] for trial in trials)


def test_recorded_jobs_come_back_as_harbor_wrote_them(
    server: Server, submit: Callable[[int], str], pull: Pull, tmp_path: Path
) -> None:
    task_id = submit(len(TRIALS))
    written = {f"{task_id}-{number}": trial for number, trial in enumerate(TRIALS)}
    for trial_id, trial in written.items():
        server.leave_files(trial_id, contents(trial.directory))
        finish(server, trial_id)
    out = tmp_path / "out"
    first = pull(task_id, "--out", str(out), "--include-task-files", "--structured", "--json")
    assert first.exit_code == 0, first.output
    document = json.loads(first.stdout)
    assert (document["target_type"], document["target_id"], document["errors"]) == ("task", task_id, [])
    assert totals(document) == (sum(len(contents(trial.directory)) for trial in TRIALS), 0)
    ours = {"logs.txt", "logs_structured.json", "manifest.json"}
    for trial_id, trial in written.items():
        pulled = out / "trials" / trial_id
        assert {name: data for name, data in contents(pulled).items() if name not in ours} == contents(trial.directory)
        assert ours <= {path.name for path in pulled.iterdir()}
        assert (pulled / "verifier").is_dir() != (pulled / "steps").is_dir()
    assert content_hash(publish_set(out / "tasks" / task_id / "files")) == document_of(out, task_id)["content_hash"]

    again = json.loads(pull(task_id, "--out", str(out), "--include-task-files", "--json").stdout)
    assert totals(again) == totals(document)[::-1]
    assert again["tasks"][0]["task_files_skipped"] is True
    damaged = out / "trials" / f"{task_id}-0" / "result.json"
    damaged.write_bytes(damaged.read_bytes().replace(b"1", b"2"))
    (out / "tasks" / task_id / "files" / "instruction.md").write_text("Changed.")
    repaired = json.loads(pull(task_id, "--out", str(out), "--include-task-files", "--json").stdout)
    assert totals(repaired)[0] == 1
    assert repaired["tasks"][0]["task_files_saved"] is True
    assert not (out / ".partial").exists()

    original, copy = JobScanner(JOBS), JobScanner(out)
    assert set(copy.list_trials("trials")) == set(written)
    for trial_id, trial in written.items():
        assert copy.get_trial_result("trials", trial_id) == original.get_trial_result(trial.job, trial.name)
        assert copy.get_trial_config("trials", trial_id) == original.get_trial_config(trial.job, trial.name)
    config, result = copy.get_job_config("trials"), copy.get_job_result("trials")
    assert config is not None
    assert {agent.name for agent in config.agents if agent.name} == {"oracle", "nop", "terminus-2"}
    assert result is not None
    parts = [found for job in {trial.job for trial in TRIALS} if (found := original.get_job_result(job)) is not None]
    assert result.stats.n_completed_trials == sum(trial.has_result for trial in TRIALS)
    for name in ("n_errored_trials", "n_cancelled_trials", "n_input_tokens", "n_cache_tokens", "n_output_tokens"):
        assert getattr(result.stats, name) == sum(getattr(part.stats, name) or 0 for part in parts), name
    assert result.stats.cost_usd == pytest.approx(sum(part.stats.cost_usd or 0 for part in parts))
    asyncio.run(compare_viewers(out, written))


def test_an_experiment_becomes_a_dataset_of_a_results_directory(
    server: Server, submit: Callable[[int], str], pull: Pull, tmp_path: Path
) -> None:
    task_id = submit(3)
    solved, unverified = JOBS / "14a-terminus2-solved/greet-script__GDNaiHE", JOBS / "07-no-reward-file"
    for number, directory in enumerate([solved, *unverified.glob("*__*")]):
        server.leave_files(f"{task_id}-{number}", contents(directory))
        finish(server, f"{task_id}-{number}")
    words = ["export", "my/run", "--to", str(tmp_path / "results"), "--project", "p", "--dataset", "d", "--json"]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["tasks"], document["cells"], document["attempts"]) == (1, 1, 2)
    assert document["left_out"] == [{"trial": f"{task_id}-2", "reason": "it has not ended"}]
    (task,) = json.loads((tmp_path / "results/projects/p/datasets/d/summary.json").read_text())["tasks"]
    assert (task["id"], task["question"]) == ("greet", "Say hello.")
    (attempts,) = [cell["attempts"] for cell in task["cells"].values()]
    assert {attempt["reward"] for attempt in attempts} == {1.0, None}
    assert list(task["cells"]) == ["none|nop"]
    (compared,) = document["numbers"]["cells"]
    assert [(entry["rule"], entry["trial"]) for entry in compared["differences"]] == [
        ("record", f"{task_id}-0"),
        ("unscored", f"{task_id}-1"),
        ("not_ended", f"{task_id}-2"),
        ("order", None),
    ]
    assert (compared["status"]["trials"], compared["dataset"]["trials"]) == (3, 2)
    assert CliRunner().invoke(cli, ["view", str(tmp_path / "results"), "--check"]).exit_code == 0
    assert json.loads(CliRunner().invoke(cli, words).stdout)["files_written"] == 0


def document_of(out: Path, task_id: str) -> dict[str, Any]:
    """What the pulled folder says of the task and of its files."""
    document: dict[str, Any] = json.loads((out / "tasks" / task_id / "task.json").read_text())
    return document


async def compare_viewers(out: Path, written: Mapping[str, Any]) -> None:
    """Harbor's viewer lists the job, and shows of a trial of each recorded one what it shows of the original."""

    def viewer(folder: Path) -> httpx2.AsyncClient:
        transport = httpx2.ASGITransport(app=create_app(folder, mode="jobs"))
        return httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1")

    async with viewer(JOBS) as original, viewer(out) as copy:
        listed = (await copy.get("/api/jobs")).json()["items"]
        assert {job["name"]: job["n_total_trials"] for job in listed if job["name"] == "trials"} == {
            "trials": sum(trial.has_result for trial in written.values())
        }
        for trial_id, trial in {trial.job: (name, trial) for name, trial in written.items()}.values():
            for part in ("trajectory", "verifier-output", "artifacts", "agent-logs"):
                seen = await copy.get(f"/api/jobs/trials/trials/{trial_id}/{part}")
                expected = await original.get(f"/api/jobs/{trial.job}/trials/{trial.name}/{part}")
                assert (seen.status_code, seen.json()) == (expected.status_code, expected.json()), (trial_id, part)
        solved = next(name for name, trial in written.items() if trial.job == "14a-terminus2-solved")
        assert (await copy.get(f"/api/jobs/trials/trials/{solved}/trajectory")).json()["steps"]


def test_the_files_are_those_of_the_attempt_that_decided(
    server: Server, submit: Callable[[int], str], pull: Pull
) -> None:
    trial_id = f"{submit(1)}-0"
    server.leave_files(trial_id, {"result.json": b"{}", "exception.txt": b"boom", "agent/old.txt": b"old"}, epoch=1)
    server.sql("UPDATE attempts SET artifact_files = 3 WHERE trial_id = %s", trial_id)
    assert pull(trial_id).exit_code == 0
    place = Path(".oddish") / trial_id / "trials" / trial_id
    (place / "agent" / "old.txt").write_bytes(b"mine")
    server.leave_files(trial_id, {"result.json": b'{"a": 1}', "agent/new.txt": b"new"}, epoch=2)
    finish(server, trial_id, epoch=2)
    shown = pull(trial_id)
    assert shown.exit_code == 0, shown.output
    assert f"{trial_id}: the files of attempt 2; GET /trials/{trial_id}/files?attempt=N has those of 1" in shown.output
    assert f"harbor view .oddish/{trial_id}" in shown.output
    there = contents(place)
    assert {"exception.txt"} & there.keys() == set()
    assert (there["result.json"], there["agent/new.txt"]) == (b'{"a": 1}', b"new")
    assert there["agent/old.txt"] == b"mine", "what somebody changed is left alone"
    manifest = json.loads(there["manifest.json"])
    assert (manifest["attempt"], [file["path"] for file in manifest["files"]]) == (2, ["agent/new.txt", "result.json"])
    logs = json.loads(pull(trial_id, "--no-files", "--no-logs", "--out", "few", "--json").stdout)
    assert (logs["trials"][0]["logs_saved"], logs["trials"][0]["other_attempts"]) == (False, [1])
    assert contents(Path("few") / "trials" / trial_id).keys() == {"result.json", "manifest.json"}


def test_a_watch_goes_on_until_all_trials_have_ended(
    server: Server, submit: Callable[[int], str], pull: Pull, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id = submit(2)
    pauses: list[float] = []
    coming: Iterable[str] = iter([f"{task_id}-0", f"{task_id}-1"])

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        trial_id = next(iter(coming))
        server.leave_files(trial_id, {"result.json": b'{"source": null}', "agent/log.txt": trial_id.encode()})
        finish(server, trial_id)

    monkeypatch.setattr(watch, "time", SimpleNamespace(sleep=sleep, monotonic=lambda: 0.0))
    shown = pull("my/run", "--watch", "--interval", "7")
    assert shown.exit_code == 0, shown.output
    assert pauses == [7.0, 7.0]
    (out,) = Path(".oddish").iterdir()
    assert out.name != "run", "a name with a slash does not become two directories"
    assert [(trial / "agent" / "log.txt").read_text() for trial in sorted((out / "trials").glob("*-*"))] == [
        f"{task_id}-0",
        f"{task_id}-1",
    ]
    assert f"2 trials in {out}: 4 files saved" in shown.output
    result = json.loads((out / "trials" / "result.json").read_text())
    assert (result["n_total_trials"], result["finished_at"] is not None) == (2, True)


def test_what_cannot_be_pulled_is_said(server: Server, submit: Callable[[int], str], pull: Pull) -> None:
    task_id = submit(2)
    deep = b'{"agent": ' * 500 + b"{}" + b"}" * 500
    server.leave_files(f"{task_id}-0", {"config.json": deep, "result.json": b"{}", "agent/log.txt": b"said"})
    waiting = pull(task_id, "--type", "task")
    assert waiting.exit_code == 0, waiting.output
    assert f"{task_id}-1: no files yet" in waiting.output
    log = Path(".oddish") / task_id / "trials" / f"{task_id}-0" / "agent" / "log.txt"
    log.unlink()
    log.mkdir()
    blocked = pull(task_id)
    assert blocked.exit_code == 1
    assert f"Not copied: {task_id}-0: 'agent/log.txt': trials/{task_id}-0/agent/log.txt" in blocked.output
    lost = pull(f"{task_id}-0", "--type", "task")
    assert (lost.exit_code, "is no task here" in lost.output) == (1, True)
    for usage in (["--interval", "2"], ["--no-files", "--include-task-files"], ["--debug-files", "--watch"]):
        assert pull(task_id, *usage).exit_code == 2
    inventory = json.loads(pull(f"{task_id}-0", "--debug-files", "--json").stdout)
    (place,) = inventory["places"]
    assert inventory["trial_s3_key"] == place["prefix"] == f"trials/{task_id}-0/1-claim"
    listed = pull(f"{task_id}-0", "--debug-files")
    assert f"{place['prefix']}/agent/log.txt" in listed.output
    assert pull(f"{task_id}-9", "--debug-files").exit_code == 1
