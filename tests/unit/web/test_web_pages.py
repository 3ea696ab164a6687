"""How a page is answered, whatever it shows."""

from collections.abc import Callable

import pytest
from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.routing import Route
from starlette.testclient import TestClient

from oddish.errors import Conflict, NotFound
from oddish.web.pages import Page, Site, endpoint
from oddish.web.paging import paging
from oddish.web.viewer.directories import Directories

MODEL = Directories((), (), paging(QueryParams(), 0))


def asked(show: Callable[[Request], Page], **headers: str) -> TestClient:
    answer = endpoint(Site(home="/start"), show, name="page", summary="A page.")
    return TestClient(Starlette(routes=[Route("/", answer)]), headers=headers)


def test_an_error_that_nobody_foresaw_is_a_page_with_a_number_to_report() -> None:
    def broken(request: Request) -> Page:
        raise ZeroDivisionError("what a file says is not repeated")

    answer = asked(broken).get("/")
    assert (answer.status_code, answer.headers["content-type"]) == (500, "text/html; charset=utf-8")
    assert "not repeated" not in answer.text
    assert "/start" in answer.text
    problem = asked(broken).get("/?format=json").json()
    assert problem["code"] == "internal"
    assert problem["incident"] in problem["detail"]


def test_a_template_that_misses_something_is_such_an_error() -> None:
    assert asked(lambda _: Page("viewer/projects.html", "Projects", MODEL)).get("/").status_code == 500


@pytest.mark.parametrize("error", [NotFound("There is none.", fix="Look <b>elsewhere</b>."), Conflict("Twice.")])
def test_a_refusal_is_a_page_that_says_what_to_do(error: NotFound | Conflict) -> None:
    def refused(request: Request) -> Page:
        raise error

    answer = asked(refused).get("/")
    assert answer.status_code == error.status
    assert error.message in answer.text
    assert "<b>" not in answer.text
    assert answer.headers["cache-control"] == "no-store"
    assert asked(refused, accept="application/json").get("/").json()["code"] == error.code


@pytest.mark.parametrize(
    ("accept", "is_twin"),
    [
        ("*/*", False),
        ("text/html,*/*;q=0.1", False),
        ("application/json", True),
        ("application/json;q=0.5, text/html;q=0.9", False),
        ("APPLICATION/JSON;q=0.9, text/html;q=0.5", True),
        ("application/json;q=none", False),
        ("", False),
    ],
)
def test_the_twin_is_answered_to_who_would_rather_have_it(accept: str, is_twin: bool) -> None:
    answer = asked(lambda _: Page("viewer/directories.html", "Viewer", MODEL), accept=accept).get("/")
    assert (answer.headers["content-type"] == "application/json") is is_twin
    assert answer.status_code == 200


def test_a_browser_that_has_the_page_is_not_sent_it_again() -> None:
    client = asked(lambda _: Page("viewer/directories.html", "Viewer", MODEL))
    page, twin = client.get("/"), client.get("/?format=json")
    assert page.headers["etag"] != twin.headers["etag"]
    assert client.get("/", headers={"If-None-Match": page.headers["etag"]}).status_code == 304
    assert client.get("/", headers={"If-None-Match": twin.headers["etag"]}).status_code == 200
    assert client.head("/").headers["content-length"] == page.headers["content-length"]
