"""Rates follow from cells alone, infrastructure that failed is no weak model, and other numbers are noticed."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddish.viewer.aggregates import AXES, by, compare, counts, overall, summary_document
from oddish.viewer.findings import Notes
from oddish.viewer.summaries import Summary, read_summary, tasks_document
from support.results import KEY, SUMMARY, cell, dataset

MODELS, HARNESSES = ("a", "b"), ("x", "y")

cells = st.lists(st.sampled_from([None, 0.0, 0.5, 1.0]), max_size=4).map(cell)
tasks = st.dictionaries(st.sampled_from([f"{model}|{harness}" for model in MODELS for harness in HARNESSES]), cells)
summaries = st.lists(tasks, max_size=5).map(lambda found: dataset(*found))


def read(document: dict[str, Any]) -> Summary:
    return read_summary(document, Notes())


def said_of(document: dict[str, Any]) -> list[str]:
    notes = Notes()
    compare(read(document), notes)
    return [f"{entry.place} {entry.found}" for entry in notes.findings]


def test_dead_infrastructure_is_left_out_of_the_rate_and_counted() -> None:
    measured = [cell([0.0, 1.0, 0.0, 0.0]), cell([0.0] * 4), cell([0.0] * 4)]
    summary = read(dataset(*({KEY: entry} for entry in [*measured, *[cell([None] * 4)] * 5])))
    rates = overall(summary).group
    assert rates.pass_at[4] == pytest.approx(0.333, abs=0.001)
    assert rates.pass_at[1] == 0
    assert (rates.n_measured, rates.cells) == (3, 8)
    assert counts(summary).n_all_infra == 5


def test_rates_are_named_by_the_number_of_attempts() -> None:
    written = json.loads(json.dumps(summary_document(read(dataset({KEY: cell([0.0, 1.0])}, k_max=2)), [])))
    (row,) = written["by_model"]
    assert list(row) == ["model", "cells", "pass@1", "pass@2", "n_measured", "mean_turns"]
    assert (row["pass@1"], row["pass@2"]) == (0, 1)


def test_a_cell_that_passed_counts_whether_or_not_the_attempt_is_listed() -> None:
    summary = read(dataset({KEY: {"passed_at": 3, "attempts": []}}))
    assert overall(summary).group.pass_at == {1: 0, 4: 1}
    assert (counts(summary).attempts_total, counts(summary).attempts_passed) == (3, 1)


def test_turns_are_those_of_measured_attempts() -> None:
    entry = cell([None, 0.0, 1.0])
    for attempt, turns in zip(entry["attempts"], (90, 10, 20), strict=True):
        attempt["n_turns"] = turns
    assert overall(read(dataset({KEY: entry}))).mean_turns == 15


@given(summaries)
@settings(max_examples=60)
def test_every_rate_is_what_counting_by_hand_gives(document: dict[str, Any]) -> None:
    summary = read(document)
    listed = [(key, entry) for task in document["tasks"] for key, entry in task["cells"].items()]
    for position, axis in enumerate(AXES):
        found = by(axis, summary)
        assert set(found) == {key.split("|")[position] for key, _ in listed}
        for name, entry in found.items():
            own = [cell for key, cell in listed if key.split("|")[position] == name]
            measured = [cell for cell in own if any(attempt["reward"] is not None for attempt in cell["attempts"])]
            assert (entry.group.cells, entry.group.n_measured) == (len(own), len(measured))
            for k in (1, 4):
                passed = sum(cell["passed_at"] is not None and cell["passed_at"] <= k for cell in measured)
                assert entry.group.pass_at[k] == (passed / len(measured) if measured else None)


@given(summaries)
@settings(max_examples=60)
def test_numbers_that_are_written_are_never_complained_of(document: dict[str, Any]) -> None:
    summary = read(document)
    written = json.loads(json.dumps(summary_document(summary, tasks_document(summary.tasks))))
    assert said_of(written) == []
    assert read(written).tasks == summary.tasks


def test_the_contracts_example_lists_one_task_of_fifty_and_is_told_so() -> None:
    said = said_of(SUMMARY)
    assert "summary.tasks_total is 50; by the tasks it is 1." in said
    assert "summary.attempts_total is 400; by the tasks it is between 3 and 4." in said
    assert "by_model[0].pass@4 is 0.31; by the tasks it is 1.0." in said
    assert not any("mean_turns" in line for line in said)


@pytest.mark.parametrize(
    ("row", "agrees"),
    [
        ({"pass@4": 0.333}, True),
        ({"pass@4": 0.33}, True),
        ({"pass@4": 1 / 3}, True),
        ({"pass@2": 0.333}, True),
        ({"pass@4": 0.34}, True),
        ({"pass@4": 0.3}, False),
        ({"pass@4": 0.125}, False),
        ({"pass@1": 0}, True),
        ({"pass@1": None}, False),
        ({"pass@4": "0.333"}, False),
        ({"n_measured": 3, "cells": 8}, True),
        ({"n_measured": 8}, False),
        ({"cells": 3}, False),
        ({"mean_turns": 12.5}, True),
        ({"mean_turns": 13}, False),
        ({"model": "another"}, False),
    ],
)
def test_stored_rates_agree_as_far_as_they_are_written_out(row: dict[str, Any], agrees: bool) -> None:
    entries = [cell([0.0, 1.0, 0.0, 0.0]), *[cell([0.0] * 4)] * 2, *[cell([None] * 4)] * 5]
    for attempt, turns in zip(entries[0]["attempts"], (12, 13, 12, 13), strict=True):
        attempt["n_turns"] = turns
    model = KEY.partition("|")[0]
    document = dataset(*({KEY: entry} for entry in entries), by_model=[{"model": model} | row])
    assert (said_of(document) == []) is agrees


@pytest.mark.parametrize(
    ("stored", "agrees"),
    [
        ({"tasks_total": 2, "tasks_any_pass": 1, "n_all_infra": 1}, True),
        ({"attempts_total": 2, "attempts_passed": 1}, True),
        ({"attempts_total": 8, "attempts_passed": 4}, True),
        ({"attempts_total": 9}, False),
        ({"attempts_total": 1}, False),
        ({"attempts_passed": 0}, False),
        ({"n_all_infra": 0}, False),
        ({"tasks_any_pass": True}, False),
    ],
)
def test_lists_of_attempts_may_be_shortened(stored: dict[str, Any], agrees: bool) -> None:
    document = dataset({KEY: cell([1.0])}, {KEY: cell([None])}, summary=stored)
    assert (said_of(document) == []) is agrees
