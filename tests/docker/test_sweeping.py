"""However an attempt ends, nothing of it stays on the engine, and nothing of a living one is touched."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from oddish.engine.containers import PROJECT_LABEL, EngineDidNotAnswer, project_name, sweep
from oddish.settings import Settings
from support.deployments import Deployment, RunningWorker
from support.engine_kit import running as still_running
from support.engine_state import containers, docker
from support.waiting import until

pytestmark = pytest.mark.anyio

COMPOSE = """
services:
  main:
    volumes: [shared:/shared]
  helper:
    image: ubuntu:24.04
    command: [sleep, infinity]
    volumes: [shared:/shared]
volumes:
  shared: {}
"""


@pytest.fixture
def slow_task(make_task: Callable[..., Path]) -> Path:
    return make_task("slow", solve="sleep 300")


@pytest.fixture(autouse=True)
def temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts that are killed leave theirs."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))


@pytest.fixture
def slow_services(make_task: Callable[..., Path]) -> Path:
    return make_task("services", solve="sleep 300", files={"environment/docker-compose.yaml": COMPOSE})


@asynccontextmanager
async def worker_process(settings: Settings) -> AsyncIterator[psutil.Process]:
    """A worker that can be killed; it is dead afterwards."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ODDISH_")}
    environ |= {
        "ODDISH_HOME": str(settings.home),
        "ODDISH_DATABASE_URL": settings.database_url,
        "ODDISH_HEARTBEAT_SECONDS": "1",
        "ODDISH_LEASE_SECONDS": "12",
    }
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "oddish.worker", env=environ)
    try:
        yield psutil.Process(process.pid)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def running(deployment: Deployment, task: Path, count: int = 1) -> list[str]:
    task_id = await deployment.task(task)
    return [await deployment.submit(task_id, index=index, max_attempts=1) for index in range(count)]


async def agent_runs(deployment: Deployment, *trials: str) -> None:
    await deployment.until(lambda row: row["harbor_stage"] == "agent_running", *trials, seconds=120)


@pytest.mark.parametrize("kind", ["slow_task", "slow_services"])
async def test_a_cancelled_trial_leaves_nothing(
    deployment: Deployment, kind: str, request: pytest.FixtureRequest
) -> None:
    trials = await running(deployment, request.getfixturevalue(kind))
    async with RunningWorker(deployment.settings):
        await agent_runs(deployment, *trials)
        await deployment.cancel(*trials)
        [trial] = await deployment.finished(*trials)
        await until(lambda: not containers())
    assert trial["harbor_stage"] == "cancelled"


async def test_trials_cancelled_while_they_start_leave_nothing(deployment: Deployment, slow_task: Path) -> None:
    trials = await running(deployment, slow_task, 4)
    async with RunningWorker(deployment.settings):
        for trial in trials:
            await deployment.until(lambda row: row["harbor_stage"] is not None, trial)
            await deployment.cancel(trial)
        await deployment.finished(*trials)


@pytest.mark.parametrize("kind", ["slow_task", "slow_services"])
async def test_a_killed_child_leaves_nothing_and_its_neighbour_goes_on(
    deployment: Deployment, kind: str, request: pytest.FixtureRequest, make_task: Callable[..., Path]
) -> None:
    [victim] = await running(deployment, request.getfixturevalue(kind))
    [neighbour] = await running(deployment, make_task("neighbour", solve="sleep 300"))
    async with RunningWorker(deployment.settings) as service:
        await agent_runs(deployment, victim, neighbour)
        [attempt] = await deployment.attempts(victim)
        assert _of(victim)
        assert service.engine_pid is not None
        _kill_child(service.engine_pid, attempt["claim_id"].hex[:8])
        [trial] = await deployment.finished(victim)
        await until(lambda: not _of(victim))
        assert _of(neighbour)
        await deployment.cancel(neighbour)
        await deployment.finished(neighbour)
    assert trial["status"] == "failed"


async def test_what_a_killed_worker_left_is_removed_by_the_next_one(
    deployment: Deployment, slow_task: Path, slow_services: Path
) -> None:
    trials = [*await running(deployment, slow_task, 2), *await running(deployment, slow_services)]
    async with worker_process(deployment.settings) as worker:
        await agent_runs(deployment, *trials)
        worker.kill()
    assert all(map(_of, trials))
    async with RunningWorker(deployment.settings):
        await deployment.cancel(*trials)
        await deployment.finished(*trials)
        await until(lambda: not any(map(_of, trials)))


async def test_a_worker_that_starts_leaves_the_containers_of_a_living_one_alone(
    deployment: Deployment, slow_task: Path
) -> None:
    trials = await running(deployment, slow_task)
    async with worker_process(deployment.settings) as living:
        await agent_runs(deployment, *trials)
        dead = project_name(_owner(deployment), "nobody-1.1-00000000", "env")
        _container_of(dead)
        async with RunningWorker(deployment.settings):
            await until(lambda: not _of(dead))
            assert _of(trials[0])
        assert _of(trials[0])
        await deployment.cancel(*trials)
        await deployment.finished(*trials)
        living.terminate()
        await until(lambda: not still_running([living]))


async def test_a_sweep_removes_what_its_owner_left_and_nothing_else() -> None:
    mine, alive, foreign = (
        project_name(owner, attempt, "env")
        for owner, attempt in (("0000aaaa", "t-0.1-11111111"), ("0000aaaa", "t-1.1-22222222"), ("0000bbbb", "t-0.1-33"))
    )
    for project in (mine, alive, foreign):
        _container_of(project)
        docker("network", "create", "--label", f"{PROJECT_LABEL}={project}", project)
        docker("volume", "create", "--label", f"{PROJECT_LABEL}={project}", project)
    assert await sweep("0000aaaa", lambda: ["t-1.1-22222222"]) == [mine]
    assert not _of(mine)
    assert all(map(_of, (alive, foreign)))
    kept = docker("network", "ls", "--format", "{{.Name}}") + docker("volume", "ls", "--quiet")
    assert [kept.split().count(project) for project in (mine, alive, foreign)] == [0, 2, 2]
    assert await sweep("0000aaaa", list) == [alive]
    assert await sweep("0000bbbb", list) == [foreign]


async def test_an_engine_that_does_not_answer_is_a_named_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
        with pytest.raises(EngineDidNotAnswer, match="Cannot connect to the Docker daemon"):
            await sweep("0000aaaa", list)
    with pytest.raises(EngineDidNotAnswer, match="no-such-program: No such file"):
        await sweep("0000aaaa", list, program="no-such-program")


def _owner(deployment: Deployment) -> str:
    return (deployment.settings.home / "work" / "owner").read_text()


def _container_of(project: str) -> None:
    docker("run", "--detach", "--label", f"{PROJECT_LABEL}={project}", "ubuntu:24.04", "sleep", "infinity")


def _of(trial_id: str) -> list[str]:
    listed = docker("ps", "--all", "--format", '{{.ID}} {{.Label "com.docker.compose.project"}}').splitlines()
    return [line for line in listed if trial_id in line]


def _kill_child(fork_server: int, claim: str) -> None:
    """The name of an attempt's process ends with its claim."""
    [child] = [child for child in psutil.Process(fork_server).children() if child.name().endswith(claim)]
    child.kill()
