"""The steps of replacing a database, at one of which a process kills itself."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from oddish.stack.cluster import Cluster
from oddish.stack.postmaster import Postmaster

EVERY_STEP = "ODDISH_TEST_EVERY_STEP"
"""Set: processes are killed at each step, not at every third one."""
STEPS = ((Cluster, "_run"), (Postmaster, "wait_ready"), (Postmaster, "stop"), (Path, "rename"))


def chosen(steps: range) -> range:
    return steps if EVERY_STEP in os.environ else steps[::3]


def die_at(step: int, program: str, *arguments: str | Path) -> int:
    """The exit code of ``program``, Python that is killed at its step number ``step``; 0 when it has fewer."""
    begun = "import os, sys; from support.deadly_steps import count_down; count_down(int(sys.argv.pop(1)))"
    command = [sys.executable, "-c", f"{begun}\n{program}\nos._exit(0)", str(step), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    return subprocess.run(command, env=environment, check=False).returncode


def count_down(left: int) -> None:
    """Kill this process at the step after ``left`` more."""

    def step(owner: type, name: str) -> None:
        real = getattr(owner, name)

        def deadly(*given: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*given, **named)

        setattr(owner, name, deadly)

    for owner, name in STEPS:
        step(owner, name)
