"""What the tests of the engine share beside their fixtures."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from oddish.engine.protocol import VERSION, Run

type MakeTask = Callable[..., Path]
type MakeRun = Callable[..., Run]

SUPPORT = Path(__file__).parents[1]
"""What a fork server needs on its path to import ``support``."""
PLAIN = "support.plain_environment:PlainEnvironment"
TASK = """\
schema_version = "1.4"
[agent]
timeout_sec = 60.0
{extra}
"""
SOLVE = "echo working; echo done > /app/answer"
TEST = 'if [ "$(cat /app/answer)" = done ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt'


def write_task(
    tasks: Path, name: str = "tiny", *, solve: str = SOLVE, test: str = TEST, extra: str = "", build: str = "true"
) -> Path:
    """A task of four small files."""
    for path, content in {
        "task.toml": TASK.format(extra=extra),
        "instruction.md": "Do it.\n",
        "environment/Dockerfile": f"FROM debian\nWORKDIR /app\nRUN {build}\n",
        "solution/solve.sh": f"#!/bin/bash\n{solve}\n",
        "tests/test.sh": f"#!/bin/bash\n{test}\n",
    }.items():
        (tasks / name / path).parent.mkdir(parents=True, exist_ok=True)
        (tasks / name / path).write_text(content)
    return tasks / name


def new_run(trials: Path, task: Path, label: str = "t-0.1-abc", **members: Any) -> Run:
    """An oracle run in the plain environment, with ``members`` instead of its own."""
    (trials / label).mkdir(parents=True)
    run = Run(
        type="run",
        version=VERSION,
        attempt=label,
        task_dir=str(task),
        trials_dir=str(trials / label),
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


def family(pid: int) -> list[psutil.Process]:
    """A process and everything below it."""
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def running(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that still run."""
    return [item for item in processes if item.is_running() and _status(item) != psutil.STATUS_ZOMBIE]


def name_of(process: psutil.Process) -> str:
    """Nothing when it has just ended."""
    try:
        return process.name()
    except psutil.NoSuchProcess:
        return ""


def _status(process: psutil.Process) -> str:
    try:
        return process.status()
    except psutil.NoSuchProcess:
        return psutil.STATUS_ZOMBIE
