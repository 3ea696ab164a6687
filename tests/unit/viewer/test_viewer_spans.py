"""Spans of a JSON document are those that a parser would find, and what is no JSON is said."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddish.viewer import spans
from oddish.viewer.spans import Outline

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(st.text(max_size=4) | st.just("messages"), values, max_size=5)


def outline(content: bytes, listed: str) -> Outline:
    return spans.outline(lambda start, end: content[start:end], len(content), listed)


def items(content: bytes) -> list[Any]:
    found = outline(content, "messages")
    return [json.loads(content[start:end]) for start, end in zip(found.starts, found.ends, strict=True)]


@settings(max_examples=60)
@given(objects, st.sampled_from([None, 1]), st.booleans())
def test_members_and_items_are_those_that_a_parser_finds(
    document: dict[str, Any], indent: int | None, ascii_only: bool
) -> None:
    content = json.dumps(document, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    found = outline(content, "messages")
    assert found.problem is None
    listed = document.pop("messages") if isinstance(document.get("messages"), list) else []
    assert items(content) == listed
    assert {name: json.loads(content[start:end]) for name, (start, end) in found.members.items()} == document


@settings(max_examples=60)
@given(st.lists(values, min_size=1, max_size=5), st.data())
def test_of_half_a_file_the_messages_that_are_whole_are_found(messages: list[Any], data: st.DataObject) -> None:
    content = json.dumps({"messages": messages}).encode()
    cut = data.draw(st.integers(1, len(content) - 1))
    assert outline(content[:cut], "messages").problem == "ends in the middle."
    found = items_that_parse(content[:cut])
    assert found[:-1] == messages[: max(len(found) - 1, 0)]


def items_that_parse(content: bytes) -> list[Any]:
    """The last may be half a number, which is a number."""
    found = outline(content, "messages")
    spans_found = list(zip(found.starts, found.ends, strict=True))
    return [json.loads(content[start:end]) for start, end in spans_found[:-1]] + [None] * bool(spans_found)


@settings(max_examples=60)
@given(st.binary(max_size=40) | st.text('{}[]",:\\ a1', max_size=40).map(str.encode))
def test_whatever_the_bytes_are_they_are_looked_through(content: bytes) -> None:
    found = outline(content, "messages")
    assert all(0 <= start < end <= len(content) for start, end in zip(found.starts, found.ends, strict=True))
    if found.problem is None:
        assert content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is no JSON object."),
        (b"[1, 2]", "is no JSON object."),
        (b"\xff\xfe{}", "is no JSON object."),
        (b'{"a": 1} {', "goes on after its end."),
        (b'{"a" 1}', "is no JSON at byte 5."),
        (b"{1: 1}", "is no JSON at byte 1."),
        (b'{"a": ,}', "is no JSON at byte 6."),
        (b'{"messages": [1 2]}', "is no JSON at byte 16."),
        (b'{"a": "x', "ends in the middle."),
    ],
)
def test_what_is_wrong_is_said(content: bytes, said: str) -> None:
    assert outline(content, "messages").problem == said


@given(st.lists(st.text('\\\\"a', max_size=9), max_size=5), st.integers(2, 7))
@settings(max_examples=60)
def test_escapes_are_followed_from_block_to_block(texts: list[str], size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spans, "_BLOCK", size)
        assert items(json.dumps({"messages": texts}).encode()) == texts


@pytest.mark.parametrize("count", range(12))
def test_a_quotation_mark_ends_a_text_by_the_backslashes_before_it(count: int) -> None:
    texts = ["\\" * count, "\\" * count + '"', '", "' + "\\" * count, ["\\" * count + '"}]'], {"\\" * count: '"'}]
    assert items(json.dumps({"messages": texts}).encode()) == texts


@pytest.mark.parametrize("levels", range(1, 12))
def test_messages_that_are_nested_deeply_end_where_they_do(levels: int) -> None:
    deep: Any = "{"
    for _ in range(levels):
        deep = ["}", {"]": deep}]
    assert items(json.dumps({"messages": [deep, 1, deep]}).encode()) == [deep, 1, deep]


def test_messages_are_the_same_however_little_is_looked_at_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    messages = [{"content": "x" * size} for size in (1, 50, 3, 200)]
    monkeypatch.setattr(spans, "_QUICK_BYTES", 40)
    assert items(json.dumps({"messages": messages}).encode()) == messages


def test_a_file_that_becomes_shorter_ends_in_the_middle() -> None:
    content = json.dumps({"messages": [1, 2, 3]}).encode()
    found = spans.outline(lambda start, end: content[start:end], len(content) + 100, "messages")
    assert (len(found.starts), found.problem) == (3, None)
    cut = content[:-6]
    found = spans.outline(lambda start, end: cut[start:end], len(content), "messages")
    assert found.problem == "ends in the middle."


def test_a_byte_order_mark_is_passed_over() -> None:
    assert items(b'\xef\xbb\xbf{"messages": [1]}') == [1]


def test_of_two_members_of_one_name_the_last_counts() -> None:
    assert items(b'{"messages": [1, 2], "messages": [3]}') == [3]


def test_hostile_numbers_of_items_and_brackets_are_followed_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spans, "MOST_ITEMS", 3)
    monkeypatch.setattr(spans, "MOST_BRACKETS", 8)
    many = outline(b'{"messages": [0, 1, 2, 3], "a": 1}', "messages")
    assert (len(many.starts), many.problem) == (3, "has more than 3 messages; the others are left out.")
    monkeypatch.setattr(spans, "MOST_MEMBERS", 2)
    wide = outline(b'{"a": 1, "messages": [0], "b": 2}', "messages")
    assert (len(wide.starts), wide.problem) == (1, "has more than 2 members; the others are left out.")
    deep = outline(b'{"messages": [0], "a": ' + b"[" * 20 + b"]" * 20 + b"}", "messages")
    assert deep.problem == "has more than 4 objects and lists; the rest is left out."
