"""docs/reference says what the code says."""

import pytest
import reference


@pytest.mark.parametrize("name", reference.PAGES)
def test_the_reference_is_up_to_date(name: str) -> None:
    stale = reference.differences(name)
    assert not stale, f"{stale}docs/reference/{name} is out of date. Run: {reference.COMMAND}"
