"""A trace reads as a conversation: each call with what came back, whichever API its writer talked to."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from oddish.viewer import conversations
from oddish.viewer.contents import Omitted, Part, Text
from oddish.viewer.conversations import Entry, converse, excerpt, speaker
from oddish.viewer.findings import Notes
from oddish.viewer.results import Results
from oddish.viewer.tracefiles import OpenTrace, Recorded
from oddish.viewer.traces import read_message
from support.results import DATASET, TRACE, example, write

PNG = "data:image/png;base64," + "iVBORw0KGgo" * 20


def call(identity: str | None, name: str = "bash", **arguments: Any) -> dict[str, Any]:
    return {"id": identity, "function": {"name": name, "arguments": arguments or {"command": "ls"}}}


def asks(*calls: dict[str, Any], content: object = None) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def answers(content: object, identity: str | None = None, **members: Any) -> dict[str, Any]:
    return {"role": "tool", "content": content, "tool_call_id": identity} | members


def conversation(*messages: dict[str, Any]) -> list[Entry]:
    read = (read_message("", message, Notes()) for message in messages)
    return list(converse(Recorded(number, message) for number, message in enumerate(read, start=1)))


def parts(content: object, **members: Any) -> tuple[Part, ...]:
    return conversation({"role": "user", "content": content} | members)[0].parts


def results(entry: Entry) -> list[list[int]]:
    """Numbers of the messages with the results of each call."""
    return [[result.number for result in made.results] for made in entry.calls]


@contextmanager
def trace_of(root: Path, *messages: dict[str, Any]) -> Iterator[OpenTrace]:
    write(example(root), f"{DATASET}/{TRACE}", {"messages": list(messages)})
    with Results(root).open_trace("data-agent", "eval-v1", TRACE) as reading:
        assert reading.value is not None
        yield reading.value


def test_results_find_their_calls_by_id_in_whatever_order() -> None:
    first, *_ = conversation(
        asks(call("a"), call("b")), answers("of b", "b"), answers("of a", "a"), answers("more", "a")
    )
    assert results(first) == [[3, 4], [2]]


def test_results_without_ids_find_their_calls_by_order() -> None:
    first, *_ = conversation(asks(call(None), call(None)), answers("one"), answers("two"), answers("three"))
    assert results(first) == [[2], [3]]
    named, *_ = conversation(asks(call(None, "read"), call(None, "bash")), answers("one", name="bash"))
    assert results(named) == [[], [2]]


def test_an_id_that_is_used_again_belongs_to_the_last_call() -> None:
    first, _, second, _ = conversation(asks(call("0")), answers("one", "0"), asks(call("0")), answers("two", "0"))
    assert (results(first), results(second)) == ([[2]], [[4]])


def test_a_result_of_an_unknown_call_stays_a_message() -> None:
    _, entry = conversation(asks(call("a")), answers("of b", "b"))
    assert entry.answers[0].call is None
    assert entry.answers[0].result.parts == (Text("of b"),)


def test_calls_and_results_among_the_parts_of_a_message_are_found() -> None:
    first, second = conversation(
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t", "name": "bash", "input": {"command": "ls"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t",
                    "content": [{"type": "text", "text": "a"}],
                    "is_error": True,
                },
                {"type": "text", "text": "Go on."},
            ],
        },
    )
    assert first.parts == (Text("hm", "reasoning"), Text("I look."))
    (made,) = first.calls
    assert (made.name, made.peek, made.results[0].parts, made.results[0].is_error) == ("bash", "ls", (Text("a"),), True)
    assert second.parts == (Text("Go on."),)


def test_the_only_call_of_older_apis_is_found() -> None:
    first, second = conversation(
        {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": '{"path": "a"}'}},
        {"role": "function", "name": "look", "content": "found"},
    )
    assert results(first) == [[2]]
    assert second.speaker == "tool"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("plain", (Text("plain"),)),
        (None, ()),
        ("", ()),
        ([{"type": "text", "text": "one"}, "two"], (Text("one"), Text("two"))),
        ([{"type": "image_url", "image_url": {"url": PNG}}], (Omitted("image, image/png, 242 characters"),)),
        ([{"type": "input_image", "image_url": PNG}], (Omitted("image, image/png, 242 characters"),)),
        (
            [{"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}],
            (Omitted('image, "https://x.example/a.png"'),),
        ),
        (
            [{"type": "image", "source": {"type": "base64", "media_type": "image/webp", "data": "AAAA"}}],
            (Omitted("image, image/webp, 4 characters"),),
        ),
        ([{"type": "image", "source": {"path": "shot.png"}}], (Omitted('image, "shot.png"'),)),
        (
            [{"type": "input_audio", "input_audio": {"format": "wav", "data": "UklG"}}],
            (Omitted("audio, wav, 4 characters"),),
        ),
        (PNG, (Omitted("data, image/png, 242 characters"),)),
        ("\0\1\2\ufffd" * 10, (Omitted("binary, 40 characters"),)),
        ("a\0b" + "c" * 50, (Text("a\0b" + "c" * 50),)),
        (7, (Text("7", "data"),)),
        ({"a": [1]}, (Text('{\n  "a": [\n    1\n  ]\n}', "data"),)),
    ],
)
def test_every_content_is_shown_or_named(content: object, expected: tuple[Part, ...]) -> None:
    assert parts(content) == expected


def test_reasoning_comes_before_words() -> None:
    assert parts("So.", reasoning_content="First.") == (Text("First.", "reasoning"), Text("So."))


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        ("user", "user"),
        ("Human", "user"),
        ("developer", "system"),
        ("AI", "assistant"),
        (None, "other"),
        ("x", "other"),
    ],
)
def test_roles_are_known_by_their_many_names(role: str | None, expected: str) -> None:
    assert speaker(role) == expected


def test_an_excerpt_has_results_with_their_calls_and_ends_after_them(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "go"}, asks(call("a"), call("b")), answers("1", "a"), answers("2", "b")]
    with trace_of(tmp_path, *messages, {"role": "assistant", "content": "done"}) as trace:
        found = excerpt(trace, 1, 2)
        assert ([entry.number for entry in found.entries], found.first, found.last, found.total) == ([1, 2], 1, 4, 5)
        assert results(found.entries[1]) == [[3], [4]]
        rest = excerpt(trace, found.last + 1, 2)
        assert ([entry.number for entry in rest.entries], rest.last) == ([5], 5)


def test_an_excerpt_that_begins_with_a_result_says_whose_it_is(tmp_path: Path) -> None:
    with trace_of(tmp_path, asks(call("a")), answers("out", "a")) as trace:
        (entry,) = excerpt(trace, 2, 5).entries
        assert (entry.answers[0].call, entry.answers[0].tool) == (1, "bash")
        assert entry.answers[0].result.parts == (Text("out"),)
        assert entry.peek == "out"


@pytest.mark.parametrize(("first", "numbers"), [(-3, [1, 2]), (3, [3]), (99, [3])])
def test_an_excerpt_begins_somewhere_in_the_trace(tmp_path: Path, first: int, numbers: list[int]) -> None:
    with trace_of(tmp_path, *[{"role": "user", "content": "x"}] * 3) as trace:
        assert [entry.number for entry in excerpt(trace, first, 2).entries] == numbers


def test_an_empty_trace_has_an_empty_excerpt(tmp_path: Path) -> None:
    with trace_of(tmp_path) as trace:
        found = excerpt(trace, 1, 10)
        assert (found.entries, found.first, found.last, found.total) == ((), 1, 0, 0)


def test_an_excerpt_has_fewer_messages_where_they_are_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversations, "CHUNK_BYTES", 100)
    with trace_of(tmp_path, *[{"role": "user", "content": "x" * 200}] * 3) as trace:
        assert [entry.number for entry in excerpt(trace, 2, 10).entries] == [2]


@pytest.mark.parametrize(
    ("arguments", "is_told"),
    [
        ({"command": "ls "}, True),
        ({"command": "ls\nls"}, True),
        ({"command": "ls", "timeout": 5}, False),
        ({"x": 1}, False),
    ],
)
def test_arguments_are_not_shown_twice(arguments: dict[str, Any], is_told: bool) -> None:
    (made,) = conversation(asks(call("a", "tool", **arguments)))[0].calls
    assert made.is_told == is_told


def test_a_message_is_seen_at_a_glance() -> None:
    assert conversation(asks(call("a"), call("b", "read", path="x")))[0].peek == "bash ls; read x"
    assert conversation({"role": "user", "content": "\n\n  Hello,\nyou"})[0].peek == "Hello, (+1 line)"
