"""Every task of the zoo on a Docker engine: solved by its own solution, or refused or failed by name."""

from collections.abc import Iterator

import pytest

from support.command_line import Cli
from support.zoo import CASES
from support.zoo.case import Case
from support.zoo.outing import Outing, differs, go, left_out


@pytest.fixture(scope="module")
def outing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outing]:
    oddish = Cli(tmp_path_factory.mktemp("home"))
    try:
        oddish("up")
        cases = [case for case in CASES if not left_out(case, "docker")]
        yield go(cases, "docker", oddish, tmp_path_factory.mktemp("zoo"))
    finally:
        oddish("down")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_comes_to_what_it_says(outing: Outing, case: Case) -> None:
    if reason := left_out(case, "docker"):
        pytest.skip(reason)
    assert differs(case, "docker", outing) is None
