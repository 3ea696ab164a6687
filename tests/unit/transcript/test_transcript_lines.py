"""Files that grow by lines: any cut gives the same, nothing is too long, nothing unprintable comes through."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from oddish.transcript import Event, adapter
from oddish.transcript.adapter import LINE_LIMIT
from oddish.transcript.events import LONGEST_SECRET, LOOKED_AT, TEXT_LIMIT, Scribe
from oddish.transcript.lines import HELD_LIMIT, MAX_FILES


def shown(*pieces: bytes, path: str = "agent.txt") -> list[str]:
    reader = adapter("some-agent")
    events = [event for piece in pieces for event in reader.feed(path, piece)] + reader.finish()
    assert all(event.kind == "message" for event in events)
    return [event.payload["text"] for event in events]


def test_each_line_is_a_message_and_blank_ones_are_none() -> None:
    assert shown(b"one\n\n  \ntwo\r\nthree") == ["one", "two", "three"]


def test_an_unfinished_line_waits_for_its_rest_or_the_end() -> None:
    reader = adapter(None)
    assert reader.feed("a.txt", b"beg") == []
    assert reader.feed("b.txt", b"other\n") == [Event("message", {"text": "other"})]
    assert reader.feed("a.txt", b"un\nrest") == [Event("message", {"text": "begun"})]
    assert reader.finish() == [Event("message", {"text": "rest"})]
    assert reader.finish() == []


@settings(max_examples=40)
@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=6))
def test_any_cut_gives_the_same(data: bytes, cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(data)]
    pieces = [data[start:end] for start, end in pairwise(places)]
    assert shown(*pieces) == shown(data)


def test_a_line_is_shown_as_a_terminal_leaves_it() -> None:
    assert shown(b"10%\r 99%\rdone\n\x1b[1;31mred\x1b[0m \x1b]0;title\x07and\x08 plain\ttab\n") == [
        "done",
        "red and plain\ttab",
    ]


def test_binary_lines_are_left_out_and_wrong_encodings_replaced() -> None:
    assert shown(b"\x7fELF\x00\x01\n\xff text\n") == ["\ufffd text"]


def test_a_line_that_is_too_long_is_left_out_and_said() -> None:
    reader = adapter(None)
    half = b"x" * (LINE_LIMIT // 2 + 1)
    assert reader.feed("a.txt", half) == []
    (marker,) = reader.feed("a.txt", half)
    assert marker.kind == "summary"
    assert "4 MiB" in marker.payload["text"]
    assert reader.feed("a.txt", half + b"end\nnext\n") == [Event("message", {"text": "next"})]
    whole = [event.kind for event in adapter(None).feed("a.txt", half + half + b"\nnext\n")]
    assert whole == ["summary", "message"]


def test_unfinished_lines_of_many_files_are_not_all_kept() -> None:
    reader = adapter(None)
    held = [reader.feed(f"{number}.txt", b"x" * (LINE_LIMIT - 1)) for number in range(HELD_LIMIT // LINE_LIMIT + 2)]
    assert [bool(events) for events in held] == [False] * 4 + [True, True]


def test_files_beyond_a_number_are_not_read() -> None:
    reader = adapter(None)
    assert [len(reader.feed(f"{number}.txt", b"line\n")) for number in range(MAX_FILES + 2)] == [1] * MAX_FILES + [0, 0]


def test_a_file_that_starts_anew_drops_its_unfinished_line() -> None:
    reader = adapter(None)
    reader.feed("a.txt", b"half a li")
    reader.restart("a.txt")
    assert reader.feed("a.txt", b"new\n") == [Event("message", {"text": "new"})]


def test_long_texts_are_cut_and_marked() -> None:
    (event,) = Scribe().message("x" * (TEXT_LIMIT + 1))
    assert event.payload == {"text": "x" * TEXT_LIMIT, "truncated": True}
    (event,) = Scribe().message("x" * TEXT_LIMIT)
    assert event.payload == {"text": "x" * TEXT_LIMIT}


def test_a_secret_is_taken_out_wherever_the_text_is_cut() -> None:
    secret = "s3cret-" * 100
    scribe = Scribe(lambda text: text.replace(secret, "[REDACTED]"))
    for start in range(TEXT_LIMIT - len(secret) - 5, TEXT_LIMIT + 5, 7):
        (event,) = scribe.tool_result("." * start + secret + "." * 20)
        assert "s3cret" not in event.payload["content"]
        assert event.payload["sanitized"] is True
    (event,) = scribe.message(secret * (LOOKED_AT // len(secret) + 9))
    assert "s3cret" not in event.payload["text"]
    assert len(secret) < LONGEST_SECRET


def test_nothing_that_cannot_be_stored_reaches_an_event() -> None:
    (event,) = Scribe().tool_use("na\0me", {"k\ud800": ["\udfff", "ä"]})
    assert event.payload == {"name": "na\ufffdme", "input": '{"k\ufffd": ["\ufffd", "ä"]}'}
