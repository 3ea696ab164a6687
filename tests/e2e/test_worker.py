"""A worker turns queued trials into recorded outcomes."""

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psutil
import pytest

from oddish.engine.client import ForkServer
from oddish.outcome import from_record, judge
from oddish.queue.claim import claim
from oddish.storage.manifest import read_manifest
from oddish.worker import execution
from support.deployments import Deployment, RunningWorker
from support.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.anyio]


async def test_a_trial_is_run_stored_and_recorded(deployment: Deployment, examples: Path) -> None:
    task_id = await deployment.task(examples / "hello-world")
    trial_id = await deployment.submit(task_id)
    async with RunningWorker(deployment.settings):
        [trial] = await deployment.finished(trial_id)
    assert (trial["status"], trial["reward"], trial["attempts"]) == ("success", 1.0, 1)
    assert trial["rewards"] == {"reward": 1.0}
    assert trial["started_at"] < trial["finished_at"]
    assert set(trial["phase_timing"]) == {"environment_setup", "agent_setup", "agent_execution", "verifier"}
    [attempt] = await deployment.attempts(trial_id)
    assert (attempt["state"], attempt["status"], attempt["epoch"]) == ("finished", "success", 1)
    manifest = await read_manifest(deployment.store, attempt["artifact_prefix"])
    assert {"result.json", "verifier/reward.txt"} <= {file.path for file in manifest.files}
    assert attempt["artifact_files"] == len(manifest.files)


async def test_nothing_done_scores_nothing(deployment: Deployment, examples: Path) -> None:
    task_id = await deployment.task(examples / "hello-world")
    trial_id = await deployment.submit(task_id, agent="nop")
    async with RunningWorker(deployment.settings):
        [trial] = await deployment.finished(trial_id)
    assert (trial["status"], trial["reward"]) == ("success", 0.0)


async def test_metrics_and_test_counts_are_recorded(deployment: Deployment, examples: Path) -> None:
    trial_id = await deployment.submit(await deployment.task(examples / "csv-report"))
    async with RunningWorker(deployment.settings):
        [trial] = await deployment.finished(trial_id)
    assert (trial["status"], trial["reward"], trial["total_steps"]) == ("success", 1.0, None)
    assert trial["tool_counts"] is None
    assert 0 < trial["duration_seconds"] < 60
    assert trial["result"]["checks_passed"] == trial["result"]["checks_total"] == 6
    tests = trial["result"]["_verifier"]
    assert (tests["tests"], tests["passed"], tests["failed"], tests["tool"]) == (6, 6, 0, "test.sh")
    [attempt] = await deployment.attempts(trial_id)
    manifest = await read_manifest(deployment.store, attempt["artifact_prefix"])
    assert tests["report_path"] in {file.path for file in manifest.files}
    facts = from_record(attempt["facts"]["judged"])
    assert (facts.rewards, facts.exceptions, facts.evidence, facts.reported_tests) == (trial["rewards"], (), "ctrf", 6)
    assert judge(facts, policy="strict").reward_valid


async def test_many_trials_share_one_unpacked_task(deployment: Deployment, examples: Path) -> None:
    task_id = await deployment.task(examples / "hello-world")
    wanted = [await deployment.submit(task_id, index=index) for index in range(6)]
    async with RunningWorker(deployment.settings):
        done = await deployment.finished(*wanted)
    assert [trial["reward"] for trial in done] == [1.0] * 6
    assert len([path for path in (deployment.settings.home / "work" / "tasks").iterdir() if path.is_dir()]) == 1


async def test_a_running_trial_ends_when_cancelled(deployment: Deployment, slow_task: Path) -> None:
    trial_id = await deployment.submit(await deployment.task(slow_task))
    async with RunningWorker(deployment.settings):
        await deployment.until(lambda row: row["harbor_stage"] == "agent_running", trial_id)
        await deployment.cancel(trial_id)
        [trial] = await deployment.finished(trial_id)
    assert (trial["status"], trial["harbor_stage"]) == ("failed", "cancelled")
    assert trial["error_message"] == "Cancelled by user"
    assert [attempt["state"] for attempt in await deployment.attempts(trial_id)] == ["cancelled"]


async def test_a_stopping_worker_gives_its_trial_to_the_next(deployment: Deployment, slow_task: Path) -> None:
    trial_id = await deployment.submit(await deployment.task(slow_task))
    async with RunningWorker(deployment.settings):
        await deployment.until(lambda row: row["harbor_stage"] == "agent_running", trial_id)
    assert (await deployment.trial(trial_id))["status"] == "retrying"
    async with RunningWorker(deployment.settings):
        await deployment.until(lambda row: row["harbor_stage"] == "agent_running", trial_id)
        await deployment.cancel(trial_id)
        [trial] = await deployment.finished(trial_id)
    attempts = await deployment.attempts(trial_id)
    assert [(attempt["epoch"], attempt["state"]) for attempt in attempts] == [(1, "lost"), (2, "cancelled")]
    assert trial["attempts"] == 1


async def test_a_dead_fork_server_costs_no_attempt(deployment: Deployment, slow_task: Path) -> None:
    trial_id = await deployment.submit(await deployment.task(slow_task))
    async with RunningWorker(deployment.settings) as service:
        await deployment.until(lambda row: row["harbor_stage"] == "agent_running", trial_id)
        assert service.engine_pid is not None
        os.kill(service.engine_pid, signal.SIGKILL)
        await deployment.until(lambda row: row["status"] == "retrying", trial_id)
        await deployment.until(lambda row: row["harbor_stage"] == "agent_running", trial_id)
        await deployment.cancel(trial_id)
        [trial] = await deployment.finished(trial_id)
    attempts = await deployment.attempts(trial_id)
    assert [(attempt["epoch"], attempt["state"]) for attempt in attempts] == [(1, "lost"), (2, "cancelled")]
    assert trial["attempts"] == 1


async def test_a_worker_without_an_engine_says_so_to_what_waits(
    deployment: Deployment, examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python, hidden = tmp_path / "python", tmp_path / "hidden"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr("oddish.worker.service.ForkServer", partial(ForkServer, python=str(python)))
    async with RunningWorker(deployment.settings) as service:
        await deployment.registered(service.id)
        python.rename(hidden)
        assert service.engine_pid is not None
        os.kill(service.engine_pid, signal.SIGKILL)
        trial_id = await deployment.submit(await deployment.task(examples / "hello-world"))
        reason = "the only worker cannot start its Harbor engine; its log says why"
        await until(lambda: deployment.waits_for(trial_id, reason))
        hidden.rename(python)
        [trial] = await deployment.finished(trial_id)
    assert (trial["status"], trial["attempts"]) == ("success", 1)


async def test_a_task_that_cannot_be_fetched_fails_by_name(deployment: Deployment, examples: Path) -> None:
    task_id = await deployment.task(examples / "hello-world")
    await deployment.store.delete(f"tasks/{task_id}/1.tar.gz")
    trial_id = await deployment.submit(task_id, max_attempts=1)
    async with RunningWorker(deployment.settings):
        [trial] = await deployment.finished(trial_id)
    assert trial["status"] == "failed"
    assert f"tasks/{task_id}/1.tar.gz" in trial["error_message"]


async def test_secret_values_reach_the_agent_and_nothing_else(deployment: Deployment, leaking_task: Path) -> None:
    secret = "correct-horse-battery"
    trial_id = await deployment.submit(await deployment.task(leaking_task), secret_env={"SERVICE_TOKEN": secret})
    async with RunningWorker(deployment.settings):
        [trial] = await deployment.finished(trial_id)
    assert (trial["status"], trial["reward"]) == ("success", 1.0)
    [attempt] = await deployment.attempts(trial_id)
    manifest = await read_manifest(deployment.store, attempt["artifact_prefix"])
    stored = [
        await deployment.store.get(f"{attempt['artifact_prefix']}/{file.path}", max_bytes=2**20)
        for file in manifest.files
    ]
    assert any(b"[REDACTED]" in content for content in stored)
    assert not any(secret.encode() in content for content in stored)
    assert secret not in repr((trial, attempt))


async def test_characters_that_cannot_be_stored_do_not_cost_the_result(
    deployment: Deployment, make_task: Callable[..., Path]
) -> None:
    odd = make_task(
        "odd", solve="true", test=r"""printf '{"reward": 1, "a\\u0000b": 2}' > /logs/verifier/reward.json"""
    )
    trial_id = await deployment.submit(await deployment.task(odd))
    async with RunningWorker(deployment.settings):
        [trial] = await deployment.finished(trial_id)
    assert (trial["status"], trial["reward"], trial["attempts"]) == ("success", 1.0, 1)
    assert trial["rewards"] == {"reward": 1.0, "a\ufffdb": 2.0}


async def test_a_secret_escaped_into_the_metrics_is_not_recorded(
    deployment: Deployment, make_task: Callable[..., Path]
) -> None:
    task = make_task(
        "escaping",
        solve="true",
        test=r"""printf '{"correct\u002dhorse": "\u0063orrect-horse", "n\u0000": 1}' > /logs/verifier/metrics.json
echo 1 > /logs/verifier/reward.txt""",
    )
    trial_id = await deployment.submit(await deployment.task(task), secret_env={"SERVICE_TOKEN": "correct-horse"})
    async with RunningWorker(deployment.settings):
        [trial] = await deployment.finished(trial_id)
    assert trial["result"].pop("_environment")["notes"]
    assert trial["result"] == {"[REDACTED]": "[REDACTED]", "n\ufffd": 1}


async def test_a_job_that_nobody_runs_is_run_again(
    deployment: Deployment, examples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oddish.worker.service.FORGOTTEN_SECONDS", 0.5)
    trial_id = await deployment.submit(await deployment.task(examples / "hello-world"))
    async with RunningWorker(deployment.settings) as service:
        await deployment.registered(service.id)
        async with deployment.database.begin() as connection:
            claims = await claim(
                connection, worker_id=service.id, pools=[f"local@{deployment.engine_name}"], slots=1, memory_mb=4096
            )
        [trial] = await deployment.finished(trial_id)
    forgotten = [attempt["epoch"] for attempt in await deployment.attempts(trial_id) if attempt["state"] == "lost"]
    assert forgotten == [held.epoch for held in claims]
    assert (trial["status"], trial["attempts"]) == ("success", 1)


async def test_a_secret_of_one_letter_does_not_spoil_the_result(deployment: Deployment, examples: Path) -> None:
    trial_id = await deployment.submit(
        await deployment.task(examples / "hello-world"), secret_env={"API_KEY": "e", "PASSWORD": "1"}
    )
    async with RunningWorker(deployment.settings):
        [trial] = await deployment.finished(trial_id)
    assert (trial["status"], trial["reward"], trial["attempts"]) == ("success", 1.0, 1)


async def test_a_failure_is_told_without_places_of_the_worker(
    deployment: Deployment, make_task: Callable[..., Path], oddish_home: Path
) -> None:
    trial_id = await deployment.submit(await deployment.task(make_task("forgetful", solve="true", test="true")))
    async with RunningWorker(deployment.settings):
        [trial] = await deployment.finished(trial_id)
    assert trial["status"] == "failed"
    assert trial["error_message"] == (
        "RewardFileNotFoundError: The tests wrote no reward: "
        "neither /logs/verifier/reward.txt nor /logs/verifier/reward.json is there"
    )
    attempts = await deployment.attempts(trial_id)
    assert len(attempts) == trial["attempts"]
    assert not any(str(oddish_home) in repr((entry["failure"], entry["facts"]["judged"])) for entry in attempts)


async def test_a_child_that_cannot_even_mind_its_deadline_is_killed(
    deployment: Deployment, slow_task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "OVERDUE_SECONDS", 0.5)
    settings = deployment.settings.model_copy(update={"attempt_deadline_seconds": 4.0})
    trial_id = await deployment.submit(await deployment.task(slow_task))
    async with RunningWorker(settings) as service:
        await deployment.until(lambda row: row["harbor_stage"] == "agent_running", trial_id)
        assert service.engine_pid is not None
        for child in psutil.Process(service.engine_pid).children():
            child.suspend()
        [trial] = await deployment.finished(trial_id)
    assert (trial["status"], trial["attempts"], trial["reasons"]) == ("failed", 1, ["deadline"])
    assert "was killed" in trial["error_message"]


async def test_the_memory_of_the_process_beside_a_sandbox_is_not_that_inside(
    deployment: Deployment, make_task: Callable[..., Path]
) -> None:
    task = make_task(
        "roomy",
        solve="ulimit -d > /app/limit",
        test='[ "$(cat /app/limit)" = unlimited ] && echo 1 > /logs/verifier/reward.txt',
    )
    trial_id = await deployment.submit(await deployment.task(task), max_attempts=1)
    async with RunningWorker(deployment.settings):
        [trial] = await deployment.finished(trial_id)
    assert (trial["status"], trial["reward"]) == ("success", 1.0)
