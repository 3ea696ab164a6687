"""A text is found wherever a reader would see it, and where it is in the order of the trace."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from oddish.viewer import searching
from oddish.viewer.results import Results
from oddish.viewer.searching import Hit, search
from oddish.viewer.tracefiles import OpenTrace
from support.results import DATASET, TRACE, TRACE_DOCUMENT, example, write

MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": 'Find the "needle"\nin the hay'},
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "NEEDLE needle"}, {"type": "image", "source": {"data": "needle"}}],
        "reasoning_content": "Straße größer",
        "tool_calls": [{"id": "c", "function": {"name": "grep_it", "arguments": '{"pattern": "x+y"}'}}],
    },
    {"role": "tool", "tool_call_id": "c", "content": "a haystack: \u65e5\u672c"},
]


@contextmanager
def trace_of(root: Path, messages: list[dict[str, Any]]) -> Iterator[OpenTrace]:
    write(example(root), f"{DATASET}/{TRACE}", TRACE_DOCUMENT | {"messages": messages})
    with Results(root).open_trace("data-agent", "eval-v1", TRACE) as reading:
        assert reading.value is not None
        yield reading.value


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        ("needle", [1, 2]),
        ('the "NEEDLE"', [1]),
        ('needle"\nin', [1]),
        ("grep_it", [2]),
        ("x+y", [2]),
        ("GRÖSSER", []),
        ("GRÖßER", [2]),
        ("hay", [1, 3]),
        ("日本", [3]),
        ("ß", [2]),
        ("GRÖSSE", []),
        ("Ö", [2]),
        ("STRAẞE", [2]),
        ('"', [1, 2]),
        (".", []),
        ("gold", []),
        ("  ", []),
    ],
)
def test_a_text_is_found_where_it_is_shown(tmp_path: Path, wanted: str, numbers: list[int]) -> None:
    with trace_of(tmp_path, MESSAGES) as trace:
        assert [hit.number for hit in search(trace, wanted).hits] == numbers


@pytest.mark.parametrize("wanted", ["日本", "GRÖßER", "needle"])
def test_it_is_found_however_the_file_is_written(tmp_path: Path, wanted: str) -> None:
    with trace_of(tmp_path, MESSAGES) as escaped:
        expected = search(escaped, wanted)
    assert expected.hits
    document = json.dumps({"messages": MESSAGES}, ensure_ascii=False)
    write(tmp_path, f"{DATASET}/{TRACE}", document)
    with Results(tmp_path).open_trace("data-agent", "eval-v1", TRACE) as reading:
        assert reading.value is not None
        assert search(reading.value, wanted) == expected


def test_a_hit_says_where_and_how_often(tmp_path: Path) -> None:
    with trace_of(tmp_path, MESSAGES) as trace:
        first, second = search(trace, "needle").hits
    assert first == Hit(1, 'Find the "', "needle", '" in the hay', 1)
    assert (second.found, second.count) == ("NEEDLE", 2)


def test_a_search_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "MOST_HITS", 2)
    with trace_of(tmp_path, [{"role": "user", "content": "same"}] * 5) as trace:
        found = search(trace, "same")
        assert ([hit.number for hit in found.hits], found.goes_on) == ([1, 2], 3)
        rest = search(trace, "same", 4)
        assert ([hit.number for hit in rest.hits], rest.goes_on) == ([4, 5], None)


def test_a_text_that_most_messages_may_have_is_looked_for_in_as_many_as_take_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "MOST_BYTES", 100)
    messages = [{"role": "user", "content": "caf\u00e9 " + "x" * 200}] * 3
    with trace_of(tmp_path, messages) as trace:
        found = search(trace, "É")
        assert ([hit.number for hit in found.hits], found.goes_on) == ([1], 2)
        assert [hit.number for hit in search(trace, "É", 3).hits] == [3]


def test_messages_that_are_none_are_passed_over(tmp_path: Path) -> None:
    write(example(tmp_path), f"{DATASET}/{TRACE}", '{"messages": [same, {"content": "same"}]}')
    with Results(tmp_path).open_trace("data-agent", "eval-v1", TRACE) as reading:
        assert reading.value is not None
        assert [hit.number for hit in search(reading.value, "same").hits] == [2]
