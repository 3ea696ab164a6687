"""Addresses of pages."""

import pytest
from starlette.datastructures import QueryParams

from oddish.errors import InvalidInput
from oddish.web.paging import paging
from oddish.web.viewer.links import Links


def test_ids_are_quoted_whatever_they_hold() -> None:
    links = Links("/viewer/main")
    assert links.projects() == "/viewer/main"
    assert Links().projects() == "/"
    assert links.dataset("a b", "100%?#", sort="id", page=None) == (
        "/viewer/main/projects/a%20b/datasets/100%25%3F%23?sort=id"
    )
    assert links.trace("p", "d", "traces/ü.json") == "/viewer/main/projects/p/datasets/d/trace/traces/%C3%BC.json"
    assert links.runs("p", ["a", "b&c"]) == "/viewer/main/projects/p/runs?run=a&run=b%26c"


def test_pages_of_a_list_know_their_neighbours() -> None:
    middle = paging(QueryParams("q=x&page=2"), 250)
    assert (middle.first, middle.last, middle.previous, middle.next) == (101, 200, "?q=x&page=1", "?q=x&page=3")
    assert next(iter(middle.of(range(250)))) == 100
    beyond = paging(QueryParams("page=99"), 250)
    assert (beyond.page, beyond.first, beyond.last, beyond.next) == (3, 201, 250, None)
    nothing = paging(QueryParams(""), 0)
    assert (nothing.first, nothing.last, nothing.pages, nothing.of([])) == (0, 0, 1, [])


@pytest.mark.parametrize("asked", ["0", "-1", "x", "1.5", " ", "²", "9" * 30])
def test_a_page_that_is_no_number_is_refused(asked: str) -> None:
    with pytest.raises(InvalidInput, match="page is"):
        paging(QueryParams({"page": asked}), 10)
