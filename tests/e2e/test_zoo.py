"""Every task of the zoo in the local sandbox: solved by its own solution, or refused or failed by name."""

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from oddish.sandbox import host
from support.command_line import Cli
from support.zoo import CASES
from support.zoo.case import Case, Failed, Refused, Solved, write

EXPERIMENT = "zoo"
OPTIONS = ("-a", "oracle", "-e", "local", "-E", EXPERIMENT, "--max-trial-attempts", "1")
REGISTRY = "ODDISH_TEST_REGISTRY"
"""Set: packages are installed from the registries that this machine is set up for."""


@dataclass(frozen=True)
class Zoo:
    """What came of each task by its name."""

    trials: dict[str, dict[str, Any]]
    refusals: dict[str, str]


def _left_out(case: Case) -> str | None:
    if "root" in case.needs and not host.privileged():
        return "as an ordinary user the system is read-only"
    if "registry" in case.needs and REGISTRY not in os.environ:
        return f"packages are installed only where {REGISTRY} is set"
    return None


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zoo]:
    tasks = tmp_path_factory.mktemp("zoo")
    cases = [case for case in CASES if not _left_out(case)]
    for case in cases:
        write(case, tasks / ("refused" if isinstance(case.local, Refused) else "run"))
    oddish = Cli(tmp_path_factory.mktemp("home"))
    try:
        oddish("up")
        with ThreadPoolExecutor(3) as threads:
            refused = [case.name for case in cases if isinstance(case.local, Refused)]
            answers = threads.map(lambda name: oddish.answer("run", tasks / "refused" / name, *OPTIONS), refused)
            oddish.answer("run", tasks / "run", *OPTIONS, "--quiet")
            refusals = {name: output for name, (code, output) in zip(refused, answers, strict=True) if code}
        found = oddish.json("status", "-e", EXPERIMENT)
        trials = {task["name"]: oddish.json("status", task["trials"][0]["id"]) for task in found}
        yield Zoo(trials, refusals)
    finally:
        oddish("down")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_comes_to_what_it_says(zoo: Zoo, case: Case) -> None:
    if reason := _left_out(case):
        pytest.skip(reason)
    if isinstance(case.local, Refused):
        assert case.name not in zoo.trials
        said = " ".join(zoo.refusals[case.name].split())
        assert case.local.where in said
        assert case.local.words in said
        return
    trial = zoo.trials[case.name]
    if isinstance(case.local, Failed):
        assert trial["status"] == "failed", trial
        assert case.local.words in trial["error_message"]
        return
    assert isinstance(case.local, Solved)
    assert trial["status"] == "success", trial["error_message"]
    assert trial["reward"] == 1, json.dumps(trial, indent=1)
    assert trial["error_message"] is None


def test_each_trial_says_where_its_environment_differs(zoo: Zoo) -> None:
    for name, trial in zoo.trials.items():
        if trial["status"] == "success":
            notes = trial["result"]["_environment"]["notes"]
            assert any("is replaced by this machine's own system" in note for note in notes), name


def test_whatever_an_environment_does_not_solve_has_a_reason() -> None:
    assert [case.name for case in CASES if not isinstance(case.local, Solved) and not case.why] == []


def test_names_are_those_of_directories(tmp_path: Path) -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    for case in CASES:
        assert write(case, tmp_path).name == case.name
