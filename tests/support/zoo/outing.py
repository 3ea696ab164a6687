"""An outing to the zoo: every task of it submitted to one environment, and what came of each.

Environments are ``local``, ``docker``, and ``user``: the local sandbox of an ordinary user. As a program, goes to
``local`` and prints what came of each as JSON.
"""

import json
import os
import sys
import tempfile
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from oddish.sandbox import host
from support import ordinary_user
from support.command_line import Cli
from support.engine_state import docker
from support.reporting import report_of
from support.zoo import CASES
from support.zoo.case import Case, Failed, Outcome, Refused, write

ENVIRONMENTS = ("local", "user", "docker")
EXPERIMENT = "zoo"
REGISTRY = "ODDISH_TEST_REGISTRY"
"""Set: packages are installed from the registries that this machine is set up for."""
EVERYWHERE = "ODDISH_TEST_ZOO"
"""Set: tests go to every environment, not to ``local`` alone; ``scripts/zoo`` always does."""
INTERNET = "ODDISH_TEST_INTERNET"
"""Set: images and files come from the internet."""
FRONTEND_SINCE = 23

only_when_asked = pytest.mark.skipif(EVERYWHERE not in os.environ, reason=f"takes {EVERYWHERE}; scripts/zoo shows it")


@dataclass(frozen=True)
class Outing:
    """What came of each task by its name."""

    trials: Mapping[str, dict[str, Any]]
    refusals: Mapping[str, str]
    """What was said to those who submitted it."""


def expected(case: Case, environment: str) -> Outcome:
    return case.docker if environment == "docker" else case.local


def left_out(case: Case, environment: str) -> str | None:
    """Why ``case`` cannot be shown on this machine; None when it can."""
    if "registry" in case.needs and REGISTRY not in os.environ:
        return f"packages are installed only where {REGISTRY} is set"
    if environment != "docker":
        if "root" in case.needs and (environment == "user" or not host.privileged()):
            return "as an ordinary user the system is read-only"
        return None
    if case.needs & {"egress", "web"} and INTERNET not in os.environ:
        return f"images and files come from the internet only where {INTERNET} is set"
    if "frontend" in case.needs and _engine_version() < FRONTEND_SINCE:
        return f"the frontend of Docker {_engine_version()} does not know this instruction"
    return None


def outing(environment: str) -> Outing:
    """Go there with all that can be shown on this machine, in a stack of its own."""
    if environment == "user":
        return Outing(**report_of(ordinary_user.command("zoo.outing"), seconds=900))
    with tempfile.TemporaryDirectory(prefix="zoo-", ignore_cleanup_errors=True) as directory:
        oddish = Cli(Path(directory) / "home")
        try:
            oddish("up")
            cases = [case for case in CASES if not left_out(case, environment)]
            return _go(cases, environment, oddish, Path(directory) / "tasks")
        finally:
            oddish("down")


def _go(cases: Collection[Case], environment: str, oddish: Cli, directory: Path) -> Outing:
    """Submit ``cases``, each as its oracle, and wait for their ends. Those to be refused are submitted one by one."""
    options = ("-a", "oracle", "-e", environment, "-E", EXPERIMENT, "--max-trial-attempts", "1")
    refused = [case.name for case in cases if isinstance(expected(case, environment), Refused)]
    for case in cases:
        write(case, directory / ("refused" if case.name in refused else "run"))
    with ThreadPoolExecutor(3) as threads:
        answers = threads.map(lambda name: oddish.answer("run", directory / "refused" / name, *options), refused)
        oddish.answer("run", directory / "run", *options, "--quiet")
        refusals = {name: output for name, (code, output) in zip(refused, answers, strict=True) if code}
    tasks = oddish.json("status", "-e", EXPERIMENT)
    with oddish.client() as client:
        trials = {task["name"]: dict(client.trial(task["trials"][0]["id"])) for task in tasks}
    return Outing(trials, refusals)


def differs(case: Case, environment: str, outing: Outing) -> str | None:
    """How what came of ``case`` differs from what it says; None when it does not."""
    wanted = expected(case, environment)
    if isinstance(wanted, Refused):
        said = " ".join(outing.refusals.get(case.name, "").split())
        return None if wanted.where in said and wanted.words in said else f"not refused for {wanted.words}: {said}"
    trial = outing.trials.get(case.name)
    if trial is None:
        return "there is no trial"
    error = trial["error_message"]
    if isinstance(wanted, Failed):
        as_said = trial["status"] == "failed" and wanted.words in (error or "")
    else:
        as_said = (trial["status"], trial["reward"], error) == ("success", 1, None)
    return None if as_said else f"{trial['status']}, reward {trial['reward']}: {error}"


def _engine_version() -> int:
    return int(docker("version", "--format", "{{.Server.Version}}").partition(".")[0])


if __name__ == "__main__":
    json.dump(asdict(outing("local")), sys.stdout)
