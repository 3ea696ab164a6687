"""Every page, light, dark and on a phone, is for everybody."""

from pathlib import Path
from typing import Any

import pytest
from starlette.routing import compile_path

from oddish.web.viewer.routes import PAGES
from support.browsing import Visit, accessibility_flaws, unreachable
from support.viewer_data import ADDRESSES

ABSENT = "/projects/absent"
DESK: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
LOOKS: dict[str, dict[str, Any]] = {
    "light": DESK | {"color_scheme": "light"},
    "dark": DESK | {"color_scheme": "dark"},
    "narrow": {"viewport": {"width": 360, "height": 740}, "color_scheme": "light"},
}


def test_no_page_is_left_out() -> None:
    patterns = [compile_path(path)[0] for path in PAGES]
    paths = [address.partition("?")[0] for address in ADDRESSES.values()]
    assert [pattern.pattern for pattern in patterns if not any(map(pattern.match, paths))] == []


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", [*ADDRESSES, "not-found"])
def test_a_page_is_for_everybody(visit: Visit, screenshots: Path | None, name: str, look: str) -> None:
    with visit(**LOOKS[look]) as watched:
        page = watched.open(ADDRESSES.get(name, ABSENT), status=200 if name in ADDRESSES else 404)
        if screenshots:
            page.screenshot(path=screenshots / f"{name}-{look}.png", full_page=True)
        assert accessibility_flaws(page) == []
        assert [page.locator(part).count() for part in ("h1", "main", "header.top", "footer.bottom")] == [1, 1, 1, 1]
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= page.viewport_size["width"]
        assert page.title().endswith(" · oddish")


@pytest.mark.parametrize("name", [*ADDRESSES, "not-found"])
def test_keys_reach_whatever_can_be_used_and_show_where_they_are(visit: Visit, name: str) -> None:
    with visit(**DESK) as watched:
        page = watched.open(ADDRESSES.get(name, ABSENT), status=200 if name in ADDRESSES else 404)
        assert unreachable(page) == []
