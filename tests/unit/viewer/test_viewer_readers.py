"""Documents of a results directory are read whatever is in them, and nothing of them is lost."""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddish.viewer import steps as steps_module
from oddish.viewer.aggregates import summary_document
from oddish.viewer.fields import SHOWN
from oddish.viewer.findings import MOST, Notes
from oddish.viewer.parsing import STANDARD, Parser
from oddish.viewer.projects import project_document, read_dataset, read_project
from oddish.viewer.runs import read_run
from oddish.viewer.steps import MOST_OTHERS, Steps
from oddish.viewer.summaries import Attempt, Summary, read_summary, tasks_document
from oddish.viewer.traces import Message, read_trace, trace_document
from oddish.web.parsing import FAST
from support.results import (
    ATTEMPT,
    HARNESS,
    KEY,
    MODEL,
    PROJECT,
    STEP,
    SUMMARY,
    TASK,
    TRACE,
    TRACE_DOCUMENT,
    cell,
    dataset,
)

READERS: list[Callable[[Mapping[str, Any], Notes], object]] = [
    read_project,
    read_dataset,
    read_summary,
    read_trace,
    read_run,
]
ONES_OWN = "a member of somebody's own"


def names_in(document: object) -> set[str]:
    if isinstance(document, dict):
        return set(document) | {name for value in document.values() for name in names_in(value)}
    return {name for value in document for name in names_in(value)} if isinstance(document, list) else set()


NAMES = sorted(names_in([PROJECT, SUMMARY, TRACE_DOCUMENT]))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=3), inner, max_size=6)
    ),
    max_leaves=10,
)
documents = st.dictionaries(st.sampled_from(NAMES), json_values, max_size=8)


def summary_of(document: Mapping[str, Any]) -> tuple[Summary, list[str]]:
    notes = Notes()
    return read_summary(document, notes), [f"{entry.place} {entry.found}" for entry in notes.findings]


def one_cell(**members: Any) -> list[str]:
    return summary_of(dataset({KEY: cell([0.0, 1.0]) | members}))[1]


def test_the_contracts_examples_are_read_without_a_word() -> None:
    notes = Notes()
    project = read_project(PROJECT, notes)
    summary = read_summary(SUMMARY, notes)
    trace = read_trace(TRACE_DOCUMENT, notes)
    assert notes.findings == ()
    assert project.support["opencode"].caveats == ("knows no limit of steps",)
    (task,) = summary.tasks
    assert (task.id, task.index, task.difficulty_level, task.reward_mode) == (TASK, 7, 0, "numeric")
    (found,) = task.cells
    assert (found.model, found.harness, found.passed_at) == (MODEL, HARNESS, 3)
    assert found.attempts == (Attempt(1, 0.0, 12, 41.2, TRACE),)
    assert (trace.reward_method, trace.gold, trace.predicted) == ("llm", "0.4056", "0.41")
    assert [message.role for message in trace.messages] == ["user", "assistant", "tool"]
    assert trace.messages[1].tool_calls[0].arguments == {"cmd": "ls"}
    assert trace.messages[2].tool_call_id == trace.messages[1].tool_calls[0].id


@given(documents)
@settings(max_examples=60)
def test_whatever_a_document_holds_it_is_read(document: dict[str, Any]) -> None:
    for read in READERS:
        read(document, Notes())


@given(documents)
@settings(max_examples=60)
def test_what_was_read_is_read_the_same_from_what_is_written_of_it(document: dict[str, Any]) -> None:
    trace, project = read_trace(document, Notes()), read_project(document, Notes())
    assert repr(read_trace(trace_document(trace), Notes())) == repr(trace)
    assert repr(read_project(project_document(project), Notes())) == repr(project)
    summary = read_summary(document, Notes())
    written = summary_document(summary, tasks_document(summary.tasks))
    assert repr(read_summary(written, Notes()).tasks) == repr(summary.tasks)


@pytest.mark.parametrize("reader", READERS)
def test_unknown_members_are_kept(reader: Callable[[Mapping[str, Any], Notes], Any]) -> None:
    notes = Notes()
    assert reader({ONES_OWN: [1]}, notes).extra == {ONES_OWN: [1]}
    assert not any(ONES_OWN in entry.found for entry in notes.findings)


def test_unknown_members_are_kept_on_every_level() -> None:
    attempt = ATTEMPT | {ONES_OWN: 1}
    found = cell([0.0]) | {"attempts": [attempt], ONES_OWN: 2}
    document = dataset({KEY: found}, **{ONES_OWN: 3})
    document["tasks"][0][ONES_OWN] = 4
    summary, said = summary_of(document)
    assert said == []
    written = summary_document(summary, tasks_document(summary.tasks))
    assert json.dumps(written).count(ONES_OWN) == 4


@given(
    st.fixed_dictionaries({}, optional=dict.fromkeys([*ATTEMPT, ONES_OWN], json_values | st.sampled_from([0, 1, 5.5])))
)
@settings(max_examples=200)
def test_an_attempt_is_read_alike_beside_a_flawless_one_and_beside_one_that_is_none(attempt: dict[str, Any]) -> None:
    beside = [
        summary_of(dataset({KEY: {"passed_at": None, "attempts": [attempt | {"attempt": 1}, other]}}))[0]
        for other in ({"attempt": 2, "reward": 0.0}, {"attempt": "two"})
    ]
    flawless, flawed = (summary.tasks[0].cells[0].attempts[0] for summary in beside)
    assert repr(flawless) == repr(flawed)


def test_a_null_reward_is_not_a_zero_and_no_number_is_as_good_as_null() -> None:
    document = dataset({KEY: cell([None, 0.0, float("nan"), float("inf")])})
    summary, said = summary_of(document)
    assert [attempt.reward for attempt in summary.tasks[0].cells[0].attempts] == [None, 0.0, None, None]
    assert len(said) == 2
    assert f"tasks[0].cells[{json.dumps(KEY)}].attempts[2].reward is NaN, not a finite number" in said[0]


def test_an_experimental_harness_says_what_does_not_work() -> None:
    for caveats in ({}, {"caveats": []}, {"caveats": [" "]}, {"caveats": "none"}):
        notes = Notes()
        read_project({"support": {"opencode": {"tier": "experimental"} | caveats}}, notes)
        assert [entry.level for entry in notes.findings][-1] == "error"


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"passed_at": None}, "passed_at null, and attempt 2 passed"),
        ({"passed_at": 3}, "passed_at 3, and attempt 2 passed"),
        ({"passed_at": 1}, "passed_at 1, and attempt 1 did not pass"),
        ({"passed_at": 9}, "k_max is 4, and there is an attempt 9"),
        ({"passed_at": "two"}, 'is "two", not a whole number from 1'),
        ({"attempts": [{"attempt": 2, "reward": 1}, {"attempt": 1, "reward": 0}]}, "lists its attempts out of order"),
        ({"attempts": [{"attempt": 2, "reward": 1}] * 2}, "lists several attempts under one number"),
        ({"attempts": [{"reward": 0.0}, {"reward": 1.0}]}, "has no number and is taken for attempt 2"),
        ({"attempts": ["first"]}, 'is "first", not an object'),
    ],
)
def test_what_contradicts_itself_is_said(members: dict[str, Any], said: str) -> None:
    assert any(said in line for line in one_cell(**members)), one_cell(**members)


def test_a_cell_without_passed_at_goes_by_its_attempts() -> None:
    entry = cell([0.0, None, 1.0])
    del entry["passed_at"]
    summary, said = summary_of(dataset({KEY: entry}))
    assert summary.tasks[0].cells[0].passed_at == 3
    assert "by its attempts it is 3" in said[0]


def test_cells_without_a_harness_duplicated_tasks_and_columns_that_are_not_listed_are_shown() -> None:
    document = dataset({"alone": cell([1.0])}, {"a|b|c": cell([1.0])})
    document["tasks"][1]["id"] = document["tasks"][0]["id"]
    summary, said = summary_of(document | {"models": ["x"], "harnesses": []})
    assert [(found.model, found.harness) for found in summary.cells] == [("alone", ""), ("a|b", "c")]
    assert (summary.models, summary.harnesses) == (("x", "alone", "a|b"), ("c",))
    assert len(said) == 5


def test_hostile_numbers_of_attempts_do_not_make_a_wide_table() -> None:
    summary, said = summary_of(dataset({KEY: cell([1.0])}, k_max=10**12))
    assert summary.k_max == 1
    assert len(said) == 2


def test_findings_are_short_and_few() -> None:
    notes = Notes()
    read_trace({"reward": "x" * 10_000, "messages": [1] * 500}, notes)
    assert len(notes.findings) == MOST + 1
    assert all(len(entry.found) < 2 * SHOWN for entry in notes.findings)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        (None, ""),
        ([{"type": "text", "text": "one"}, "two", {"type": "image", "data": "…"}], "one\ntwo\n[image]"),
        ({"unlike": "anything"}, "[an object of 1]"),
    ],
)
def test_content_has_a_text_whatever_it_is(content: object, text: str) -> None:
    assert Message("user", content).text == text


def test_calls_are_read_flat_and_nested_and_arguments_that_are_no_json_stay() -> None:
    flat = {"id": "c", "name": "bash", "arguments": {"cmd": "ls"}}
    broken = {"id": "c", "function": {"name": "bash", "arguments": "{cut"}}
    message = {"role": "assistant", "content": "", "tool_calls": [flat, broken]}
    first, second = read_trace({"messages": [message]}, Notes()).messages[0].tool_calls
    assert (first.name, first.arguments) == ("bash", {"cmd": "ls"})
    assert (second.name, second.arguments) == ("bash", "{cut")


GOOD_LINES = [
    json.dumps(STEP).encode(),
    json.dumps(STEP | {"reward": None, "lr": 1e-5}).encode(),
    b'{"step": 4, "loss": 1e308, "kl": -1e308, "n_rollouts": 7}',
    b'{"step": 4, "loss": 1}',
    b'{"step": -0.5e-3, "loss": 10}',
]
ODD_LINES = [
    b'{"step": NaN, "mine": 1}',
    b'{"step": 5, "loss": NaN, "kl": Infinity}',
    b'{"stp": 5, "loss": 1}',
    b'{"step": 05, "loss": 1}',
    b'{"step": 5 6, "loss": 1}',
    b'{"step": 5, "loss": 1-1}',
    b'{"step": 5, "loss": 1e999}',
    b'{"loss": 1, "step": 5}',
    b'{"step": 5, "step": 6}',
    b'{"step":5,"loss":1}',
    b'{"step": 6, "loss": true}',
    b'{"step": 6, "loss": 1' + b"0" * 400 + b', "kl": -1' + b"0" * 400 + b"}",
    b' {"step": 7}\r',
    b'{"step": 8}, {"step": 9}',
    b'{"step": 8}{"step": 9}',
    b'{"step": 8,',
    b'"loss": 1}',
    b'{"step": [{}',
    b'{}], "step": 1}, {"step": 2}',
    b'{"step": 8, "mine": {"a": 1}}',
    b'{"step": 8, "mine": [1]}',
    b'{"step": 8, "mine": 9007199254740993}',
    b'{"step": "3"}',
    b"[3]",
    b"{cut",
    b"",
    b"\xff",
    b"[" * 10_000,
]


def steps_in(*lines: bytes, parser: Parser = STANDARD) -> Steps:
    steps = Steps()
    steps.read(b"\n".join(lines), 1, Notes(), parser)
    return steps


@given(st.lists(st.sampled_from(GOOD_LINES + ODD_LINES), max_size=6))
@settings(max_examples=150)
def test_no_line_of_metrics_spoils_another(lines: list[bytes]) -> None:
    assert list(steps_in(*lines)) == [step for line in lines for step in steps_in(line)]


@given(st.lists(st.sampled_from(GOOD_LINES + ODD_LINES), max_size=6))
@settings(max_examples=60)
def test_steps_are_the_same_whoever_reads_their_json(lines: list[bytes]) -> None:
    assert list(steps_in(*lines, parser=FAST)) == list(steps_in(*lines))


@given(st.lists(st.sampled_from(GOOD_LINES), max_size=6))
@settings(max_examples=20)
def test_lines_with_which_nothing_is_wrong_are_read_like_others(lines: list[bytes]) -> None:
    assert list(steps_in(*lines, b"{cut")) == list(steps_in(*lines))


def test_steps_are_columns_in_which_nothing_is_made_up() -> None:
    steps = steps_in(*GOOD_LINES[:3], b'{"step": 5, "reward": "much", "note": "text"}')
    assert steps.names() == [*STEP, "lr"]
    assert list(map(math.isnan, steps.column("reward"))) == [False, True, True, True]
    assert list(steps.column("step", 2)) == [4, 5]
    assert steps[1].reward is None
    assert steps[-1] == steps[3]
    assert steps[3].extra == {"note": "text"}
    assert steps.column("lr")[1] == 1e-5
    assert steps.followed_by(steps)[5].extra == {"lr": 1e-5}
    assert steps == steps_in(*GOOD_LINES[:3], b'{"step": 5, "note": "text"}')
    assert steps != steps_in(*GOOD_LINES[:3])


def test_metrics_of_which_the_contract_does_not_speak_are_kept_with_or_without_a_column() -> None:
    document = {f"m{number:02}": number for number in range(MOST_OTHERS + 5)} | {"large": 2**63 - 1, "list": [1]}
    steps = steps_in(json.dumps({"step": 1} | document).encode())
    assert steps[0].extra == document
    assert len(steps.names()) == MOST_OTHERS + 1


def test_metrics_beyond_the_columns_are_counted_and_kept_as_far_as_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(steps_module, "MOST_KEPT", 100)
    members = {f"m{number:03}": float(number) for number in range(MOST_OTHERS + 60)}
    line = json.dumps(STEP | members).encode()
    plain, one_by_one = Steps(), Steps()
    assert plain.read((line + b"\n") * 3, 1, Notes()) == 3
    for _ in range(3):
        assert one_by_one.read(line + b"\n{}", 1, Notes()) == 2
    for steps in (plain, one_by_one):
        assert steps.names() == [*STEP, *sorted(members)[:MOST_OTHERS]]
        assert steps.without_column == 60
        assert [len(step.extra) for step in steps if step.step] == [len(members), len(members), MOST_OTHERS]
