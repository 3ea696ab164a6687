"""One Chromium for the ring, and ``oddish view`` of two directories: results as people have them, and hostile ones."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright
from rings import chromium_program

from support.browsing import Site, Visit, Watched, launched, watched
from support.hostile_data import hostile
from support.viewer_data import realistic
from support.viewing import viewing

_SCREENSHOTS = os.environ.get("ODDISH_SCREENSHOTS")
"""A directory for pictures of every page; tests have no variables of ours."""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    program = chromium_program()
    if program is None:
        pytest.skip("there is no Chromium")
    with sync_playwright() as playwright:
        browser = launched(playwright, program)
        yield browser
        browser.close()


@contextmanager
def _shown(chromium: Browser, directory: Path, home: Path) -> Iterator[Site]:
    with viewing(str(directory), "--port", "0", environment={"ODDISH_HOME": str(home)}) as said:
        context = chromium.new_context()
        page = context.new_page()
        page.goto(said["link"])
        page.wait_for_url(f"{said['url']}/")
        state = context.storage_state()
        context.close()
        yield Site(said["url"], state)


@pytest.fixture(scope="session")
def results(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    root = tmp_path_factory.mktemp("viewer")
    with _shown(chromium, realistic(root / "results"), root / "home") as site:
        yield site


@pytest.fixture(scope="session")
def hostile_results(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    root = tmp_path_factory.mktemp("hostile")
    with _shown(chromium, hostile(root / "results"), root / "home") as site:
        yield site


@pytest.fixture
def visit(chromium: Browser, results: Site) -> Visit:
    return partial(_visit, chromium, results)


@pytest.fixture
def visit_hostile(chromium: Browser, hostile_results: Site) -> Visit:
    return partial(_visit, chromium, hostile_results)


def _visit(chromium: Browser, site: Site, **options: Any) -> AbstractContextManager[Watched]:
    return watched(chromium, site.base, storage_state=site.state, **options)


@pytest.fixture(scope="session")
def screenshots() -> Path | None:
    if _SCREENSHOTS is None:
        return None
    directory = Path(_SCREENSHOTS)
    directory.mkdir(parents=True, exist_ok=True)
    return directory
