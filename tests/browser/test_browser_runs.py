"""Charts of training runs under the pointer, and while their file grows."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from support.browsing import Watched, watched
from support.results import RUN, STEP, example, write
from support.viewing import viewing

METRICS = f"{RUN}/train/metrics.jsonl"
SHORTEST_MS = 3_000


def lines(begin: int, end: int) -> str:
    return "".join(json.dumps(STEP | {"step": step, "reward": step / 100}) + "\n" for step in range(begin, end))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(example(tmp_path / "results"), METRICS, lines(0, 50))
    return tmp_path / "results"


@pytest.fixture
def site(chromium: Browser, root: Path, tmp_path: Path) -> Iterator[Watched]:
    environment = {"ODDISH_HOME": str(tmp_path / "home")}
    with (
        viewing(str(root), "--public", "--port", "0", environment=environment) as said,
        watched(chromium, said["url"]) as context,
    ):
        yield context


@pytest.fixture
def page(site: Watched) -> Page:
    """Of the run; its clock goes on when it is told to."""
    opened = site.context.new_page()
    opened.clock.install()
    return site.open("/projects/data-agent/runs/rl-1", page=opened)


def grow(root: Path) -> None:
    with (root / METRICS).open("a") as file:
        file.write(lines(50, 100))


def test_a_chart_says_the_values_under_the_pointer(page: Page) -> None:
    chart = page.locator("#chart-1")
    chart.locator("svg.chart-drawing").hover()
    expect(chart.locator(".chart-reading")).to_contain_text("step 2")
    expect(chart.locator(".chart-reading")).to_contain_text("rl-1 0.2")
    page.locator("h1").hover()
    expect(chart.locator(".chart-reading")).to_have_text("")


def test_new_steps_appear_and_move_nobody(page: Page, root: Path) -> None:
    page.locator("#chart-3 summary").click()
    page.locator("#chart-3 .chart-table").evaluate("table => { table.scrollTop = 100; }")
    page.locator("h1").hover()
    page.evaluate("scrollTo(0, 250)")
    place = page.evaluate("scrollY")
    grow(root)
    page.clock.run_for(SHORTEST_MS)
    expect(page.locator("#outcomes")).to_contain_text("from 0 to 99")
    expect(page.locator("#chart-1 desc")).to_contain_text("from 0 to 99")
    assert page.evaluate("scrollY") == place
    assert page.locator("#chart-3 details").evaluate("details => details.open")
    assert page.locator("#chart-3 .chart-table").evaluate("table => table.scrollTop") == 100
    assert not page.locator("#chart-2 details").evaluate("details => details.open")


def test_a_chart_under_the_pointer_waits_until_it_is_left(page: Page, root: Path) -> None:
    page.locator("#chart-1 svg.chart-drawing").hover()
    grow(root)
    page.clock.run_for(SHORTEST_MS)
    expect(page.locator("#chart-2 desc")).to_contain_text("from 0 to 99")
    expect(page.locator("#chart-1 desc")).to_contain_text("from 0 to 49")
    page.locator("h1").hover()
    page.clock.run_for(SHORTEST_MS)
    expect(page.locator("#chart-1 desc")).to_contain_text("from 0 to 99")
