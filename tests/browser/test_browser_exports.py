"""What a server shows to the people of an organisation, in a browser that one of them signed in."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser

from support.browsing import LOOKS, accessibility_flaws, look, overflow, unreachable, watched
from support.results import MODEL, packed
from support.waiting import eventually

KEY = "ok_" + "0" * 31 + "1"


@pytest.fixture
def server(database_url: str, tmp_path: Path) -> Iterator[httpx2.Client]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "ODDISH_HOME": str(tmp_path / "home"),
        "ODDISH_DATABASE_URL": database_url,
        "ODDISH_BOOTSTRAP_KEY": KEY,
        "ODDISH_PORT": str(port),
        "ODDISH_VIEWER_DIRECTORIES": '{"evals": "/nowhere"}',
    }
    with (
        httpx2.Client(base_url=f"http://127.0.0.1:{port}", headers={"Authorization": f"Bearer {KEY}"}) as client,
        subprocess.Popen([sys.executable, "-m", "oddish.api"], env=os.environ | settings) as process,
    ):
        try:
            eventually(lambda: answers(client), 30)
            yield client
        finally:
            process.terminate()


def answers(client: httpx2.Client) -> bool:
    try:
        return client.get("/health/live").status_code == 200
    except httpx2.TransportError:
        return False


def test_exports_are_found_and_looked_at(server: httpx2.Client, chromium: Browser, screenshots: Path | None) -> None:
    assert server.put("/viewer/exports/data-agent/eval-v1", content=packed()).status_code == 200
    base = str(server.base_url).rstrip("/")
    with watched(chromium, base) as browser:
        page = browser.open(server.post("/sign-in").json()["url"].removeprefix(base))
        page.wait_for_url(f"{base}/viewer")
        for path in ("/viewer", "/viewer/exports/data-agent/eval-v1"):
            browser.open(path, page=page)
            for like in LOOKS:
                look(page, like)
                assert overflow(page) <= 0, (path, like)
                assert accessibility_flaws(page, like) == []
                if screenshots is not None:
                    page.screenshot(path=screenshots / f"server{path.replace('/', '-')}-{like}.png")
            assert unreachable(page) == []
        page.get_by_role("link", name="data-agent").click()
        page.wait_for_url(f"{base}/viewer?project=data-agent")
        page.get_by_role("region", name="Exports").get_by_role("link", name="eval-v1").click()
        page.wait_for_url(f"{base}/viewer/exports/data-agent/eval-v1")
        page.get_by_role("region", name="Tasks").get_by_role("link").last.click()
        page.wait_for_url("**/trace/traces/*.json")
        assert MODEL in page.inner_text("h1")
