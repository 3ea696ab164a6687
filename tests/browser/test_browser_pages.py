"""Every page, light, dark and on a phone, is for everybody."""

from pathlib import Path

import pytest
from starlette.routing import compile_path

from oddish.web.viewer.routes import PAGES
from support.browsing import LOOKS, Visit, accessibility_flaws, look, overflow, unreachable
from support.viewer_data import ADDRESSES

ABSENT = {"not-found": "/projects/absent"}


def test_no_page_is_left_out() -> None:
    patterns = [compile_path(path)[0] for path in PAGES if not path.endswith(".csv")]
    paths = [address.partition("?")[0] for address in ADDRESSES.values()]
    assert [pattern.pattern for pattern in patterns if not any(map(pattern.match, paths))] == []


@pytest.mark.parametrize("name", [*ADDRESSES, *ABSENT])
def test_a_page_is_for_everybody(visit: Visit, screenshots: Path | None, name: str) -> None:
    with visit() as watched:
        page = watched.open((ADDRESSES | ABSENT)[name], status=404 if name in ABSENT else 200)
        assert [page.locator(part).count() for part in ("h1", "main", "header.top", "footer.bottom")] == [1, 1, 1, 1]
        for like in LOOKS:
            look(page, like)
            if screenshots:
                page.screenshot(path=screenshots / f"{name}-{like}.png", full_page=True)
            assert accessibility_flaws(page, like) == [], like
            assert overflow(page) <= 0, like
        assert unreachable(page) == []
