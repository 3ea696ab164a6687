"""Names of platforms."""

import pytest

from oddish.sandbox.platforms import Platform


@pytest.mark.parametrize("wanted", ["linux", "linux/amd64", "amd64", "LINUX/AMD64", "linux/x86_64", "linux/amd64/v2"])
def test_the_own_platform_goes_by_several_names(wanted: str) -> None:
    assert Platform("amd64", "").covers(wanted)


@pytest.mark.parametrize("wanted", ["linux/arm64", "arm", "windows/amd64", "linux/386"])
def test_others_do_not(wanted: str) -> None:
    assert not Platform("amd64", "").covers(wanted)


def test_a_name_has_its_variant() -> None:
    assert (Platform("arm", "v7").name, Platform("arm64", "").name) == ("linux/arm/v7", "linux/arm64")
