"""Whatever is wrong in an address, the answer is one: a page, or a problem document, with what is there to choose."""

import pytest
from starlette.testclient import TestClient

from support.pages import Markup, visitor
from support.results import TRACE, example

PROJECT = "/projects/data-agent"
DATASET = f"{PROJECT}/datasets/eval-v1"
MISTAKES = [
    (f"{DATASET}?passed=some", 400, 'passed is "some"', "Choose one of any, all, none."),
    (f"{DATASET}?difficulty=odd", 400, 'difficulty is "odd"', "Choose easy."),
    (f"{DATASET}?first=a|b", 400, 'first is "a|b"', "mini-swe-agent"),
    (f"{DATASET}?page=x", 400, 'page is "x", no whole number from 1.', "leave it out"),
    (f"{DATASET}?size=1000", 400, 'size is "1000", no whole number from 1 to 200.', "leave it out"),
    (f"{DATASET}?sort=id&sort=id", 400, "sort is given 2 times.", "Give it once."),
    (f"{DATASET}?format=xml", 400, 'format is "xml"', "Choose one of html, json."),
    ("/?page=0", 400, 'page is "0"', "leave it out"),
    (f"{PROJECT}?runs=-1", 400, 'runs is "-1"', "leave it out"),
    (f"{DATASET}/trace/{TRACE}?limit=201", 400, 'limit is "201", no whole number from 1 to 200.', "leave it out"),
    (f"{DATASET}/compare?left={TRACE}", 400, "No trace is named for the right side.", "right=PATH"),
    (f"{DATASET}/compare?left={TRACE}&right={TRACE}&from=1e3", 400, 'from is "1e3"', "leave it out"),
    (f"{PROJECT}/runs?run=gone", 404, "has no run 'gone'", "Choose rl-1."),
    (f"{PROJECT}/runs/gone", 404, "has no run 'gone'", "Choose rl-1."),
    (f"{PROJECT}/datasets/gone", 404, "has no dataset 'gone'", "Choose eval-v1."),
    ("/projects/gone", 404, "no project 'gone'", "Choose data-agent."),
    (f"{DATASET}/trace/traces/gone.json", 404, "no trace 'traces/gone.json'", "Choose another attempt."),
]


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    return visitor(example(tmp_path_factory.mktemp("results")))


@pytest.mark.parametrize(("address", "status", "named", "fix"), MISTAKES)
def test_a_mistake_in_an_address_is_named_with_what_there_is(
    view: TestClient, address: str, status: int, named: str, fix: str
) -> None:
    page = view.get(address)
    assert (page.status_code, page.headers["content-type"]) == (status, "text/html; charset=utf-8")
    text = " ".join(Markup(page.text).text.split())
    assert named in text
    assert fix in text
    assert ("This page with nothing chosen" in text) == (status == 400)
    twin = view.get(address, headers={"Accept": "application/json"})
    if "format=" not in address:
        assert (twin.status_code, twin.headers["content-type"]) == (status, "application/problem+json")
        assert named in twin.json()["detail"]
        assert fix in twin.json()["fix"]


def test_a_mistake_that_is_markup_stays_text(view: TestClient) -> None:
    page = Markup(view.get(DATASET, params={"sort": "<script>alert(1)</script>"}).text)
    assert "<script>alert(1)</script>" in page.text
    assert all((script.get("src") or "").startswith("/assets/") for script in page.all("script"))
