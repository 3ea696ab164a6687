"""Real fork servers and tiny tasks for the environment of ``support.plain_environment``."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from oddish.engine.client import ForkServer, curated_environment
from oddish.engine.protocol import VERSION, Run
from support.engine_kit import MakeRun, MakeTask

HERE = Path(__file__).parents[2]
PLAIN = "support.plain_environment:PlainEnvironment"
TASK = """\
schema_version = "1.4"
[agent]
timeout_sec = 60.0
{extra}
"""
SOLVE = "echo working; echo done > /app/answer"
TEST = 'if [ "$(cat /app/answer)" = done ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt'


@pytest.fixture
async def server() -> AsyncIterator[ForkServer]:
    source = {**os.environ, "PYTHONPATH": str(HERE), "ODDISH_DATABASE_URL": "postgresql://secret"}
    async with ForkServer(environ=curated_environment({"PYTHONPATH", "ODDISH_DATABASE_URL"}, source)) as server:
        yield server


@pytest.fixture
def make_task(tmp_path: Path) -> MakeTask:
    def make(name: str = "tiny", *, solve: str = SOLVE, test: str = TEST, extra: str = "", build: str = "true") -> Path:
        task = tmp_path / "tasks" / name
        for path, content in {
            "task.toml": TASK.format(extra=extra),
            "instruction.md": "Do it.\n",
            "environment/Dockerfile": f"FROM debian\nRUN {build}\n",
            "solution/solve.sh": f"#!/bin/bash\n{solve}\n",
            "tests/test.sh": f"#!/bin/bash\n{test}\n",
        }.items():
            (task / path).parent.mkdir(parents=True, exist_ok=True)
            (task / path).write_text(content)
        return task

    return make


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    def make(task: Path, label: str = "t-0.1-abc", **members: Any) -> Run:
        trials = tmp_path / "trials" / label
        trials.mkdir(parents=True)
        run = Run(
            type="run",
            version=VERSION,
            attempt=label,
            task_dir=str(task),
            trials_dir=str(trials),
            trial_name=label,
            agent="oracle",
            model=None,
            agent_kwargs={},
            agent_env={},
            environment=PLAIN,
            environment_kwargs={},
            env={},
            harbor={},
            deadline_sec=60.0,
        )
        return {**run, **members}  # type: ignore[typeddict-item]

    return make
