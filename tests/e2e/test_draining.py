"""A worker that is told to end lets what runs end first, for as long as it is given."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from oddish.db import migration
from support.deployments import Deployment, RunningWorker
from support.migrations import NEXT, release
from support.waiting import until

pytestmark = pytest.mark.anyio


def patient(deployment: Deployment, seconds: float) -> Deployment:
    """The same with workers that let what runs end for ``seconds``."""
    return replace(deployment, settings=deployment.settings.model_copy(update={"drain_seconds": seconds}))


async def test_a_draining_worker_lets_its_trial_end_and_takes_no_other(
    deployment: Deployment, make_task: Callable[..., Path]
) -> None:
    task = make_task("steady", solve="sleep 3")
    task_id = await deployment.task(task)
    first = await deployment.submit(task_id)
    worker = RunningWorker(patient(deployment, 60).settings)
    async with worker as service:
        await deployment.until(lambda row: row["harbor_stage"] == "agent_running", first)
        service.drain()
        second = await deployment.submit(task_id, index=1)
        await until(lambda: deployment.waits_for(second, "the only worker is about to end"))
        assert (await service.readiness.report()).status == "draining"
        await worker.ended()
    assert (await deployment.trial(first))["status"] == "success"
    assert len(await deployment.attempts(first)) == 1
    assert (await deployment.trial(second))["status"] == "queued"


async def test_a_draining_worker_gives_back_what_does_not_end_in_time(deployment: Deployment, slow_task: Path) -> None:
    trial_id = await deployment.submit(await deployment.task(slow_task))
    worker = RunningWorker(patient(deployment, 1).settings)
    async with worker as service:
        await deployment.until(lambda row: row["harbor_stage"] == "agent_running", trial_id)
        service.drain()
        await worker.ended()
    trial = await deployment.trial(trial_id)
    assert (trial["status"], trial["attempts"]) == ("retrying", 0)
    assert [attempt["state"] for attempt in await deployment.attempts(trial_id)] == ["lost"]


async def test_a_worker_ends_by_signals_and_says_how_it_is(deployment: Deployment, slow_task: Path) -> None:
    trial_id = await deployment.submit(await deployment.task(slow_task))
    async with worker_process(deployment, ODDISH_DRAIN_SECONDS="3600", ODDISH_LOG_FORMAT="json") as worker:
        await deployment.until(lambda row: row["harbor_stage"] == "agent_running", trial_id)
        async with httpx2.AsyncClient(base_url=worker.url) as client:
            assert (await client.get("/health/ready")).json()["status"] == "ready"
            counted = (await client.get("/metrics")).text
            assert 'oddish_claims_total{kind="trial"} 1.0' in counted
            assert "oddish_worker_executions 1.0" in counted
            worker.process.send_signal(signal.SIGTERM)
            await worker.line("draining")
            report = await client.get("/health/ready")
            assert (report.status_code, report.json()["status"]) == (503, "draining")
        worker.process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(worker.process.wait(), 60) == 0
    assert (await deployment.trial(trial_id))["status"] == "retrying"


async def test_lines_about_a_trial_say_which_and_where(deployment: Deployment, examples: Path) -> None:
    trial_id = await deployment.submit(await deployment.task(examples / "hello-world"))
    async with worker_process(deployment, ODDISH_LOG_FORMAT="json") as worker:
        line = await worker.line("attempt recorded")
    assert (line["trial_id"], line["epoch"], line["experiment"]) == (trial_id, 1, "e0000000")
    assert line["worker"]


@pytest.mark.parametrize("contracts", [False, True])
async def test_a_worker_starts_beside_a_newer_schema_only_when_that_grew(
    deployment: Deployment, tmp_path: Path, contracts: bool
) -> None:
    migrations = release(tmp_path, "ALTER TABLE workers ADD COLUMN colour text", contracts=contracts)
    await asyncio.to_thread(migration.upgrade, deployment.settings.database_url, migrations=migrations)
    async with worker_process(deployment, ODDISH_LOG_FORMAT="json") as worker:
        if contracts:
            assert await asyncio.wait_for(worker.process.wait(), 60) == 1
            assert NEXT in (await worker.line("worker ended"))["error"]
        else:
            await worker.line("worker ready")


class WorkerProcess:
    """A worker and its log."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.url = ""

    async def line(self, event: str) -> dict[str, str]:
        """The next line of its log about ``event``."""
        assert self.process.stderr is not None
        async with asyncio.timeout(90):
            async for raw in self.process.stderr:
                line = json.loads(raw) if raw.startswith(b"{") else {}
                if line.get("event") == event:
                    return dict(line)
        raise AssertionError(f"the worker ended without a line about {event}")


@asynccontextmanager
async def worker_process(deployment: Deployment, **variables: str) -> AsyncIterator[WorkerProcess]:
    settings = deployment.settings
    environment = {
        **os.environ,
        "ODDISH_HOME": str(settings.home),
        "ODDISH_DATABASE_URL": settings.database_url,
        "ODDISH_WORKER_METRICS_PORT": "0",
        **variables,
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "oddish.worker", env=environment, stderr=asyncio.subprocess.PIPE
    )
    worker = WorkerProcess(process)
    worker.url = (await worker.line("metrics and probes are served"))["url"]
    try:
        yield worker
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
            await asyncio.wait_for(process.wait(), 60)
