"""Messages of a trace are read one by one, whatever the rest of its file is like."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from oddish.viewer import spans, tracefiles
from oddish.viewer.findings import Finding
from oddish.viewer.results import Results
from oddish.viewer.spans import Outline, Read
from oddish.viewer.tracefiles import OpenTrace
from oddish.viewer.traces import LENIENT
from support.results import DATASET, TRACE, TRACE_DOCUMENT, example, write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return example(tmp_path / "results")


@contextmanager
def opened(root: Path, document: object = None, results: Results | None = None) -> Iterator[OpenTrace]:
    if document is not None:
        write(root, f"{DATASET}/{TRACE}", document)
    with (results or Results(root)).open_trace("data-agent", "eval-v1", TRACE) as reading:
        assert reading.value is not None
        yield reading.value


def said(root: Path, document: str, number: int | None = None) -> list[str]:
    write(root, f"{DATASET}/{TRACE}", document)
    with Results(root).open_trace("data-agent", "eval-v1", TRACE) as reading:
        findings: tuple[Finding, ...] = reading.findings
        if number is not None and reading.value is not None:
            findings = reading.value.read(number).findings
    return [f"{finding.place.partition(': ')[2]} {finding.found}".strip() for finding in findings]


def test_a_trace_is_the_same_read_whole_and_message_by_message(root: Path) -> None:
    whole = Results(root).trace("data-agent", "eval-v1", TRACE).value
    assert whole is not None
    with opened(root) as trace:
        assert tuple(trace.read(number).message for number in range(1, trace.total + 1)) == whole.messages
        assert (trace.head.task_id, trace.head.gold, trace.head.messages) == (whole.task_id, whole.gold, ())


def test_a_file_is_looked_through_once_for_as_long_as_it_does_not_change(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []

    def outline(read: Read, size: int, listed: str) -> Outline:
        looked.append(size)
        return spans.outline(read, size, listed)

    monkeypatch.setattr(tracefiles, "outline", outline)
    results = Results(root)
    for _ in range(3):
        with opened(root, results=results) as trace:
            assert trace.total == 3
    assert len(looked) == 1
    with opened(root, TRACE_DOCUMENT | {"messages": []}, results) as trace:
        assert trace.total == 0
    assert len(looked) == 2


def test_what_is_derived_from_a_file_is_kept_until_it_changes(root: Path) -> None:
    results, made = Results(root), []

    def total(trace: OpenTrace) -> int:
        made.append(trace)
        return trace.total

    for _ in range(2):
        with opened(root, results=results) as trace:
            assert trace.derived(total) == 3
    assert len(made) == 1
    with opened(root, TRACE_DOCUMENT | {"messages": []}, results) as trace:
        assert trace.derived(total) == 0


def test_a_file_that_is_replaced_while_it_is_open_stays_as_it_was(root: Path) -> None:
    with opened(root) as trace:
        replacement = write(root, "replacement", TRACE_DOCUMENT | {"messages": [{"content": "x" * 5000}]})
        replacement.replace(root / DATASET / TRACE)
        assert trace.read(3).message.content == "data.csv"


def test_of_a_half_written_trace_the_messages_that_are_whole_are_shown(root: Path) -> None:
    text = json.dumps(TRACE_DOCUMENT)
    half = text[: text.index('"role": "tool"')]
    assert said(root, half) == ["after 2 messages ends in the middle."]
    with opened(root, half) as trace:
        assert (trace.total, trace.head.gold) == (2, "0.4056")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("7", "messages[0] is 7, not an object, and is left out."),
        ("null", "messages[0] is null, not an object, and is left out."),
        ('{"role": tru}', "messages[0] is no JSON and is left out."),
        ('{"role": 1' + "0" * 5000 + "}", "messages[0] is no JSON and is left out."),
        ("[" * 200 + "]" * 200, "messages[0] is nested too deeply and is left out."),
        ('{"role": ["user"]}', "messages[0].role is a list of 1, not a text, and is left out."),
    ],
)
def test_a_message_that_is_none_spoils_no_other(root: Path, message: str, expected: str) -> None:
    document = f'{{"messages": [{message}, {{"role": "user", "content": "fine"}}]}}'
    assert said(root, document) == []
    assert said(root, document, 1) == [expected]
    with opened(root, document) as trace:
        assert trace.read(2).message.content == "fine"


def test_bytes_that_are_no_text_are_shown_as_such(root: Path) -> None:
    (root / DATASET / TRACE).write_bytes(
        b'{"messages": [{"content": "a\xff\x00\x1b[1mb"}, {"content": "\\ud800\\u0000"}]}'
    )
    with opened(root) as trace:
        first, second = trace.read(1), trace.read(2)
    assert first.message.content == "a\ufffd\0\x1b[1mb"
    assert "is not UTF-8" in first.findings[0].found
    assert second.message.content == "\ufffd\ufffd"


def test_numbers_that_json_does_not_know_are_texts() -> None:
    assert LENIENT.decode("[NaN, -Infinity, 1e999, 1.5]") == ["NaN", "-Infinity", "1e999", 1.5]


def test_a_reward_that_is_no_number_is_none(root: Path) -> None:
    assert said(root, '{"reward": NaN, "messages": []}') == ['reward is "NaN", not a finite number, and is left out.']


@pytest.mark.parametrize("messages", ['{"a": 1}', '"text"', "7", "null"])
def test_messages_that_are_no_list_are_none(root: Path, messages: str) -> None:
    with opened(root, f'{{"messages": {messages}, "gold": "1"}}') as trace:
        assert (trace.total, trace.head.gold) == (0, "1")


def test_what_is_too_large_is_left_out_and_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracefiles, "HEAD_LIMIT", 100)
    monkeypatch.setattr(tracefiles, "MESSAGE_LIMIT", 100)
    document: dict[str, Any] = {"gold": "1", "notes": "n" * 200, "messages": [{"content": "c" * 200}]}
    assert said(root, json.dumps(document)) == ['"notes" has 202 bytes and is left out.']
    assert said(root, json.dumps(document), 1) == ["messages[0] has 215 bytes, more than 100, and is left out."]


@pytest.mark.parametrize(
    ("trace", "found"),
    [
        ("traces/none.json", "is missing."),
        ("traces/link.json", "is a link, no regular file, or not readable."),
        ("traces", "is a link, no regular file, or not readable."),
        ("../../../x.json", "leads out of the dataset."),
        ("/etc/passwd", "leads out of the dataset."),
    ],
)
def test_what_is_no_file_of_the_dataset_is_not_opened(root: Path, trace: str, found: str) -> None:
    (root / DATASET / "traces/link.json").symlink_to("/etc/passwd")
    with Results(root).open_trace("data-agent", "eval-v1", trace) as reading:
        assert reading.value is None
        assert reading.findings[0].found.endswith(found)
