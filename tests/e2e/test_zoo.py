"""Every task of the zoo in the local sandbox: solved by its own solution, or refused or failed by name."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.command_line import Cli
from support.zoo import CASES
from support.zoo.case import Case, Solved, write
from support.zoo.outing import Outing, differs, go, left_out


@pytest.fixture(scope="module")
def outing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outing]:
    oddish = Cli(tmp_path_factory.mktemp("home"))
    try:
        oddish("up")
        cases = [case for case in CASES if not left_out(case, "local")]
        yield go(cases, "local", oddish, tmp_path_factory.mktemp("zoo"))
    finally:
        oddish("down")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_comes_to_what_it_says(outing: Outing, case: Case) -> None:
    if reason := left_out(case, "local"):
        pytest.skip(reason)
    assert differs(case, "local", outing) is None


def test_each_trial_says_where_its_environment_differs(outing: Outing) -> None:
    for name, trial in outing.trials.items():
        if trial["status"] == "success":
            notes = trial["result"]["_environment"]["notes"]
            assert any("is replaced by this machine's own system" in note for note in notes), name


def test_whatever_an_environment_does_not_solve_has_a_reason() -> None:
    unsolved = [case for case in CASES if not (isinstance(case.local, Solved) and isinstance(case.docker, Solved))]
    assert [case.name for case in unsolved if not case.why] == []


def test_names_are_those_of_directories(tmp_path: Path) -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    for case in CASES:
        assert write(case, tmp_path).name == case.name
