"""Ranges of bytes and pages of files."""

import re
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddish.api.downloads import Span, requested_span
from oddish.api.paging import page


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("bytes=0-", Span(0, 10)),
        ("bytes=4-", Span(4, 10)),
        ("bytes=4-4", Span(4, 5)),
        ("bytes=4-99", Span(4, 10)),
        ("bytes=-3", Span(7, 10)),
        ("bytes=-30", Span(0, 10)),
        ("bytes=10-", None),
        ("bytes=5-4", None),
        ("bytes=-0", None),
        ("bytes=-", None),
        ("bytes=0-1,3-4", None),
        ("lines=1-2", None),
        ("", None),
    ],
)
def test_one_range_that_can_be_served_is_taken_and_every_other_is_ignored(asked: str, expected: Span | None) -> None:
    assert requested_span({"range": asked}, 10, "tag") == expected


def test_a_range_of_another_representation_is_ignored() -> None:
    asked = {"range": "bytes=4-"}
    assert requested_span(asked | {"if-range": '"tag"'}, 10, "tag") == Span(4, 10)
    assert requested_span(asked | {"if-range": '"other"'}, 10, "tag") is None
    assert requested_span(asked | {"if-range": '"tag"'}, 10, None) is None


@dataclass(frozen=True)
class File:
    path: str


names = st.text("ab/", min_size=1, max_size=6)


@given(st.sets(names, max_size=20), st.sampled_from(["", "a", "a/", "b/a"]), st.booleans(), st.integers(1, 5))
def test_pages_together_are_the_listing(paths: set[str], prefix: str, recursive: bool, limit: int) -> None:
    found: list[str] = []
    cursor = None
    while True:
        part = page([File(path) for path in paths], prefix=prefix, recursive=recursive, cursor=cursor, limit=limit)
        assert len(part.files) <= limit
        found += [file.path for file in part.files]
        if (cursor := part.cursor) is None:
            break
    pattern = re.escape(prefix) + (".*" if recursive else "[^/]*")
    assert found == sorted(path for path in paths if re.fullmatch(pattern, path))
