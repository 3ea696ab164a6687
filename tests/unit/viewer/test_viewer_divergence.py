"""Two traces side by side: what both did is in one row, and the first row in which they differ is known."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddish.viewer import divergence
from oddish.viewer.alignment import align
from oddish.viewer.conversations import converse
from oddish.viewer.divergence import Comparison, Row, compare, side_by_side, steps
from oddish.viewer.findings import Notes
from oddish.viewer.results import Results
from oddish.viewer.tracefiles import Recorded
from oddish.viewer.traces import read_message
from support.results import DATASET, example, write

letters = st.lists(st.sampled_from("abc"), max_size=9)


def longest_common(left: Sequence[str], right: Sequence[str]) -> int:
    if not left or not right:
        return 0
    if left[0] == right[0]:
        return 1 + longest_common(left[1:], right[1:])
    return max(longest_common(left[1:], right), longest_common(left, right[1:]))


@given(letters, letters)
def test_an_alignment_has_every_item_once_and_matches_as_many_as_can_be(left: list[str], right: list[str]) -> None:
    pairs = align(left, right)
    assert [one for one, _ in pairs if one is not None] == list(range(len(left)))
    assert [other for _, other in pairs if other is not None] == list(range(len(right)))
    matched = [(one, other) for one, other in pairs if one is not None and other is not None]
    assert all(left[one] == right[other] for one, other in matched)
    assert len(matched) == longest_common(left, right)


def test_beyond_its_limit_an_alignment_keeps_what_is_common_at_both_ends() -> None:
    left, right = ["a", *"bcd", "z"], ["a", *"dcb", "z"]
    assert [pair for pair in align(left, right, 1) if None not in pair] == [(0, 0), (4, 4)]


def act(command: str, result: str = "ok", words: str = "", **members: Any) -> list[dict[str, Any]]:
    call = {"id": command, "function": {"name": "bash", "arguments": {"command": command} | members}}
    return [
        {"role": "assistant", "content": words, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": command, "content": result},
    ]


def rows(left: Sequence[dict[str, Any]], right: Sequence[dict[str, Any]]) -> list[Row]:
    found = [
        list(
            steps(
                converse(
                    Recorded(number, read_message("", message, Notes()))
                    for number, message in enumerate(messages, start=1)
                )
            )
        )
        for messages in (left, right)
    ]
    return side_by_side(*found)


def shape(found: Sequence[Row]) -> list[tuple[int | None, int | None, str]]:
    """Numbers of the messages in each row, and how they differ."""
    return [(row.left and row.left.number, row.right and row.right.number, row.difference) for row in found]


QUESTION = {"role": "user", "content": "Go."}


def test_results_are_in_the_row_of_their_call() -> None:
    trace = [QUESTION, *act("ls"), *act("cat a")]
    assert shape(rows(trace, trace)) == [(1, 1, "none"), (2, 2, "none"), (4, 4, "none")]


def test_other_words_and_other_results_are_no_other_action() -> None:
    left = [*act("ls"), *act("make", words="I build."), *act("test", "1 failed")]
    right = [*act("ls "), *act("make", words="Now build."), *act("test", "passed")]
    assert [row.difference for row in rows(left, right)] == ["none", "words", "result"]


def test_what_an_agent_was_told_is_none_of_its_actions() -> None:
    left = [{"role": "user", "content": "You are on host a. Go."}, *act("ls")]
    right = [{"role": "user", "content": "You are on host b. Go."}, *act("ls")]
    assert [row.difference for row in rows(left, right)] == ["words", "none"]


def test_what_is_between_actions_of_both_is_side_by_side() -> None:
    left = [QUESTION, *act("ls"), *act("cat a"), *act("make")]
    right = [QUESTION, *act("find"), *act("grep"), *act("cat a")]
    assert shape(rows(left, right)) == [
        (1, 1, "none"),
        (2, 2, "action"),
        (None, 4, "action"),
        (4, 6, "none"),
        (6, None, "action"),
    ]


@pytest.mark.parametrize("other", [act("ls", timeout=5), act("ls -a")])
def test_other_arguments_are_another_action(other: list[dict[str, Any]]) -> None:
    assert [row.difference for row in rows(act("ls"), other)] == ["action"]


def test_the_order_of_arguments_does_not_count() -> None:
    call = act("ls", timeout=5)
    turned = act("ls", timeout=5)
    arguments = turned[0]["tool_calls"][0]["function"]
    arguments["arguments"] = dict(reversed(arguments["arguments"].items()))
    assert [row.difference for row in rows(call, turned)] == ["none"]


def test_traces_are_compared_as_far_as_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, last in (("a", "make"), ("b", "test")):
        write(example(tmp_path), f"{DATASET}/{name}.json", {"messages": [QUESTION, *act("ls"), *act(last)]})

    def compared() -> Comparison:
        results = Results(tmp_path)
        with (
            results.open_trace("data-agent", "eval-v1", "a.json") as left,
            results.open_trace("data-agent", "eval-v1", "b.json") as right,
        ):
            assert left.value is not None
            assert right.value is not None
            return compare(left.value, right.value)

    found = compared()
    assert (found.first("action"), found.first("result"), found.is_whole) == (2, None, True)
    monkeypatch.setattr(divergence, "MOST_MESSAGES", 3)
    found = compared()
    assert (found.first("action"), len(found.rows), found.is_whole) == (None, 2, False)
