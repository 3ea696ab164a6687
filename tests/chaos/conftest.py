"""A deployment for the self-test, in which only workers are hurt."""

from collections.abc import Iterator

import pytest

from chaos.site import Means, Site

NONE = Means(disks="not used", faketime="not used", docker="not used")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("site"), NONE, servers=1, workers=0) as site:
        yield site
