"""The fast parser makes of JSON what the standard library does, and no more is JSON to it."""

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddish.web.parsing import parse

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def outcome(read: Callable[[bytes], Any], content: bytes) -> object:
    try:
        return repr(read(content))
    except (ValueError, RecursionError) as error:
        return type(error)


@given(VALUES, st.booleans())
@settings(max_examples=100)
def test_values_are_the_same(value: Any, ascii_only: bool) -> None:
    content = json.dumps(value, ensure_ascii=ascii_only).encode()
    assert outcome(parse, content) == outcome(json.loads, content)


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 25))
def test_numbers_are_the_nearest_that_there_are(value: float, digits: int) -> None:
    assert parse(f"{value:.{digits}g}".encode()) == float(f"{value:.{digits}g}")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b'{"a": 1,}',
        b'{"a": 1, "a": 2}',
        b"01",
        b"-0",
        b"1" * 5000,
        b"[1e999, -Infinity]",
        b'"\\ud800"',
        b'"a\tb"',
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b"\xef\xbb\xbf{}",
        '{"a": 1}'.encode("utf-16"),
        b"[" * 300 + b"]" * 300,
        b"[" * 100_000,
    ],
    ids=lambda content: repr(content[:20]),
)
def test_what_is_odd_is_as_odd(content: bytes) -> None:
    assert outcome(parse, content) == outcome(json.loads, content)


def test_nan_is_read_for_whoever_refuses_it() -> None:
    assert math.isnan(parse(b"NaN"))
