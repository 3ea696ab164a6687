"""Every task of the zoo in the local sandbox: solved by its own solution, or refused or failed by name."""

from pathlib import Path

import pytest

from support.zoo import CASES
from support.zoo.case import Case, Solved, write
from support.zoo.outing import Outing, differs, left_out, only_when_asked, outing

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

MODES = ("local", pytest.param("user", marks=only_when_asked))


@pytest.fixture(scope="module", params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def came_to(mode: str) -> Outing:
    return outing(mode)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_comes_to_what_it_says(came_to: Outing, mode: str, case: Case) -> None:
    if reason := left_out(case, mode):
        pytest.skip(reason)
    assert differs(case, mode, came_to) is None


def test_each_trial_says_where_its_environment_differs(came_to: Outing) -> None:
    for name, trial in came_to.trials.items():
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
