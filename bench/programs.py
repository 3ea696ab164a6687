"""Programs that are measured from outside."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LOCAL_ENVIRONMENT = "oddish.engine.environments.local:LocalEnvironment"
PATIENCE_SECONDS = 600.0


def installed(name: str) -> str:
    """The program ``name`` of this Python's environment."""
    return str(Path(sys.executable).with_name(name))


ODDISH = installed("oddish")
HARBOR = installed("harbor")


@dataclass(frozen=True)
class Run:
    seconds: float
    output: str


def run(command: Sequence[str], *, environment: Mapping[str, str] | None = None) -> Run:
    """Wall time of a program that has to succeed. Harbor reports nothing to anybody."""
    began = time.monotonic()
    answer = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
        env={**os.environ, "HARBOR_TELEMETRY": "0", **(environment or {})},
    )
    seconds = time.monotonic() - began
    if answer.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {answer.returncode}:\n{answer.stdout}{answer.stderr}")
    return Run(seconds, answer.stdout)


def harbor_run(task: Path, directory: Path, *, local: bool, trials: int = 1, at_once: int = 1) -> list[str]:
    """``harbor run`` with the oracle, into ``directory``; in the sandbox of oddish when it is ``local``."""
    where = ["--env", LOCAL_ENVIRONMENT, "--ek", f"scratch={directory / 'sandboxes'}"] if local else []
    numbers = ["--n-attempts", str(trials), "--n-concurrent", str(at_once)]
    return [HARBOR, "run", "-p", str(task), "-a", "oracle", "-o", str(directory / "jobs"), "-q", *numbers, *where]


def oddish_run(task: Path, environment: str, experiment: str, *, trials: int = 1) -> list[str]:
    wanted = ["-e", environment, "-E", experiment, "--n-trials", str(trials)]
    return [ODDISH, "run", str(task), "-a", "oracle", "--quiet", *wanted]
