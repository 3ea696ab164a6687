"""Attempts in the local sandbox, and that nothing of them survives, whoever dies."""

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from oddish.engine.client import AttemptLost, ForkServer
from oddish.engine.results import attempt_facts, read_trial
from oddish.outcome import judge
from oddish.sandbox.support import support
from support.engine_kit import family, name_of, new_run, running, write_task
from support.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not support().usable, reason=str(support().reason))]

SLEEP = "echo started; touch /app/started; sleep 600"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def server() -> AsyncIterator[ForkServer]:
    async with ForkServer() as server:
        yield server


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    return tmp_path / "scratch"


def leftovers(scratch: Path) -> list[str]:
    return [path.name for path in scratch.glob("t-*")]


def sandboxes(scratch: Path) -> list[psutil.Process]:
    """Processes that mention the scratch directory."""
    return [item for item in psutil.process_iter(["cmdline"]) if str(scratch) in " ".join(item.info["cmdline"] or [])]


async def test_the_oracle_solves_a_task_that_is_built_first(server: ForkServer, tmp_path: Path, scratch: Path) -> None:
    task = write_task(
        tmp_path / "tasks", build="echo built > /app/built", solve="cp /app/built /app/answer; echo done > /app/answer"
    )
    run = new_run(tmp_path / "trials", task, environment="local", scratch=str(scratch))
    async with server.attempt(run) as attempt:
        async for _ in attempt:
            pass
    assert attempt.done is not None
    facts = read_trial(Path(str(attempt.done["trial_dir"])))
    outcome = judge(attempt_facts(facts, attempt.done, "done"))
    assert (outcome.status, outcome.reward) == ("success", 1.0)
    assert leftovers(scratch) == []


async def test_a_step_that_fails_is_a_failed_build(server: ForkServer, tmp_path: Path, scratch: Path) -> None:
    task = write_task(tmp_path / "tasks", build="exit 3")
    run = new_run(tmp_path / "trials", task, environment="local", scratch=str(scratch))
    async with server.attempt(run) as attempt:
        async for _ in attempt:
            pass
    assert attempt.done is not None
    outcome = judge(attempt_facts(read_trial(Path(str(attempt.done["trial_dir"]))), attempt.done, "done"))
    assert (outcome.status, outcome.reasons, outcome.retry) == ("failed", ("image_build_failed",), "never")


@pytest.mark.parametrize("death", ["kill", "cancel", "worker", "child", "server"])
async def test_nothing_is_left_after(server: ForkServer, tmp_path: Path, scratch: Path, death: str) -> None:
    task = write_task(tmp_path / "tasks", solve=SLEEP)
    run = new_run(tmp_path / "trials", task, environment="local", scratch=str(scratch))
    async with server.attempt(run) as attempt:
        async for line in attempt:
            if line["type"] == "stage" and line["stage"] == "agent_running":
                break
        assert attempt.pid is not None
        assert server.pid is not None
        await until(lambda: any("sleep" in name_of(item) for item in family(attempt.pid or 0)))
        processes = family(attempt.pid)
        assert leftovers(scratch)
        if death == "kill":
            await attempt.kill()
        elif death == "cancel":
            await attempt.cancel()
            async for _ in attempt:
                pass
        elif death == "worker":
            attempt.disconnect()
            await attempt.wait()
        elif death == "child":
            os.kill(attempt.pid, signal.SIGKILL)
            await attempt.wait()
        else:
            os.kill(server.pid, signal.SIGKILL)
            with pytest.raises(AttemptLost):
                await attempt.wait()
        await until(lambda: not running(processes))
        await until(lambda: not leftovers(scratch))
    assert sandboxes(scratch) == []
