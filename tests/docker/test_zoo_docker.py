"""Every task of the zoo on a Docker engine: solved by its own solution, or refused or failed by name."""

import pytest

from support.zoo import CASES
from support.zoo.case import Case
from support.zoo.outing import Outing, differs, left_out, only_when_asked, outing

pytestmark = only_when_asked


@pytest.fixture(scope="module")
def came_to() -> Outing:
    return outing("docker")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_comes_to_what_it_says(came_to: Outing, case: Case) -> None:
    if reason := left_out(case, "docker"):
        pytest.skip(reason)
    assert differs(case, "docker", came_to) is None
