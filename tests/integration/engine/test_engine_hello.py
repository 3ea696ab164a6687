"""What a fork server says about itself, and how fast."""

import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import psutil
import pytest

from oddish.engine.client import EngineUnavailable, ForkServer, curated_environment
from support.engine_kit import SUPPORT, MakeRun, MakeTask, running
from support.waiting import until

pytestmark = pytest.mark.anyio


async def test_hello_names_the_engine_its_agents_and_environments(server: ForkServer) -> None:
    hello = await server.start()
    agents = {agent["name"]: agent["needs_model"] for agent in hello["agents"]}
    assert hello["engine"].startswith("harbor/0.26.")
    assert (agents["oracle"], agents["nop"], agents["codex"], agents["terminus-2"]) == (False, False, True, True)
    assert not set(hello["environments"]) & set(hello["unavailable"])
    assert {"docker", "local", "daytona", "podman"} <= set(hello["environments"]) | set(hello["unavailable"])
    assert all(reason.endswith((".", "?", ")")) or reason for reason in hello["unavailable"].values())


async def test_the_server_loads_no_model_library_and_inherits_no_settings(server: ForkServer) -> None:
    assert server.pid is not None
    process = psutil.Process(server.pid)
    environment = process.environ()
    assert not [name for name in environment if name.startswith("ODDISH_") and name != "ODDISH_HOME"]
    assert environment["HARBOR_TELEMETRY"] == "0"
    assert not [mapped.path for mapped in process.memory_maps() if "tokenizers" in mapped.path]
    assert process.num_threads() == 1


async def test_an_interpreter_without_the_engine_is_refused() -> None:
    with pytest.raises(EngineUnavailable):
        await ForkServer(python="/usr/bin/false").start()


async def test_start_and_fork_are_fast(
    make_task: MakeTask, make_run: MakeRun, record_property: Callable[[str, object], None]
) -> None:
    begun = time.perf_counter()
    async with ForkServer(
        environ=curated_environment({"PYTHONPATH"}, {**os.environ, "PYTHONPATH": str(SUPPORT)})
    ) as server:
        hello = time.perf_counter() - begun
        spawned, whole = [], []
        for number in range(5):
            run = make_run(make_task(), f"t-{number}.1-a")
            begun = time.perf_counter()
            async with server.attempt(run) as attempt:
                await until(lambda: attempt.pid is not None)
                spawned.append(time.perf_counter() - begun)
                async for _ in attempt:
                    pass
            whole.append(time.perf_counter() - begun)
        memory = psutil.Process(server.pid).memory_info().rss / 2**20
    figures = {"hello_sec": hello, "fork_sec": spawned, "oracle_trial_sec": whole, "server_mb": memory}
    for name, figure in figures.items():
        record_property(name, figure)
    assert hello < 10
    assert statistics.median(spawned) < 0.5


def test_the_worker_side_loads_neither_harbor_nor_its_libraries() -> None:
    code = (
        "import sys, oddish.engine.client, oddish.engine.results, oddish.engine.redaction, oddish.outcome;"
        "print([name for name in sys.modules if name.partition('.')[0] in"
        " {'harbor', 'litellm', 'pydantic', 'httpx', 'httpx2', 'sqlalchemy', 'fastapi', 'jinja2'}])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"


async def test_callers_that_find_it_dead_start_one_between_them() -> None:
    before = psutil.Process().children()
    async with ForkServer() as server:
        greetings = await asyncio.gather(*(server.start() for _ in range(4)))
        assert greetings == [server.hello] * 4
        children = [child for child in running(psutil.Process().children()) if child not in before]
        forked = [child for child in children if "oddish.engine.forkserver" in child.cmdline()]
        assert [child.pid for child in forked] == [server.pid]
