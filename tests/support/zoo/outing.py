"""An outing to the zoo: every task of it submitted to one environment, and what came of each."""

import os
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oddish.sandbox import host
from support.command_line import Cli
from support.engine_state import docker
from support.zoo.case import Case, Failed, Outcome, Refused, write

EXPERIMENT = "zoo"
REGISTRY = "ODDISH_TEST_REGISTRY"
"""Set: packages are installed from the registries that this machine is set up for."""
INTERNET = "ODDISH_TEST_INTERNET"
"""Set: images and files come from the internet."""
FRONTEND_SINCE = 23


@dataclass(frozen=True)
class Outing:
    """What came of each task by its name."""

    trials: Mapping[str, dict[str, Any]]
    refusals: Mapping[str, str]
    """What was said to those who submitted it."""


def expected(case: Case, environment: str) -> Outcome:
    return case.local if environment == "local" else case.docker


def left_out(case: Case, environment: str) -> str | None:
    """Why ``case`` cannot be shown on this machine; None when it can."""
    if "registry" in case.needs and REGISTRY not in os.environ:
        return f"packages are installed only where {REGISTRY} is set"
    if environment == "local":
        if "root" in case.needs and not host.privileged():
            return "as an ordinary user the system is read-only"
        return None
    if case.needs & {"egress", "web"} and INTERNET not in os.environ:
        return f"images and files come from the internet only where {INTERNET} is set"
    if "frontend" in case.needs and _engine_version() < FRONTEND_SINCE:
        return f"the frontend of Docker {_engine_version()} does not know this instruction"
    return None


def go(cases: Collection[Case], environment: str, oddish: Cli, directory: Path) -> Outing:
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
    trials = {task["name"]: oddish.json("status", task["trials"][0]["id"]) for task in tasks}
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
