"""Tasks as rows: marks of attempts, filters, orders and pages."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddish.viewer.choosing import Selection, choose
from oddish.viewer.comparisons import compare_columns
from oddish.viewer.filters import SIZES, View
from oddish.viewer.findings import Notes
from oddish.viewer.marks import Marks, marks
from oddish.viewer.sorting import SORTS, in_order
from oddish.viewer.summaries import Cell, read_summary
from oddish.viewer.tables import Table
from support.results import KEY, cell, dataset

OTHER = "another|harness"
PASSED, FAILED, DEAD = cell([0.0, 1.0]), cell([0.0, 0.0]), cell([None, None])

entries = st.lists(st.sampled_from([None, 0.0, 0.5, 1.0]), max_size=3).map(cell)
rows = st.dictionaries(st.sampled_from([KEY, OTHER, "third|x"]), entries)
summaries = st.lists(rows, max_size=8).map(lambda found: dataset(*found))


def table_of(*tasks: Mapping[str, Any], k_max: int = 2) -> Table:
    """Of tasks with these members, called by their position unless they say their id."""
    listed = [{"id": str(position), "cells": {}} | dict(task) for position, task in enumerate(tasks)]
    return Table(read_summary(dataset(k_max=k_max) | {"tasks": listed}, Notes()))


def read_cell(entry: dict[str, Any]) -> Cell:
    return next(read_summary(dataset({KEY: entry}), Notes()).cells)


def chosen(table: Table, view: View) -> list[str]:
    return [row.task.id for row in choose(table, view, None).found]


def states(found: Marks) -> list[tuple[int, str]]:
    return [(mark.attempt, mark.state) for mark in found.shown]


def test_each_attempt_is_a_mark() -> None:
    entry = cell([None, 0.0, 0.5, 1.0])
    entry["attempts"][3]["trace"] = "traces/a.json"
    found = marks(read_cell(entry), 4, most=20)
    assert states(found) == [(1, "unmeasured"), (2, "fail"), (3, "fail"), (4, "pass")]
    assert [(mark.reward, mark.trace) for mark in found.shown[2:]] == [(0.5, None), (1, "traces/a.json")]


def test_attempts_that_are_not_listed_are_no_failures() -> None:
    entry = {"passed_at": 3, "attempts": [{"attempt": 1, "reward": 0.0}]}
    assert states(marks(read_cell(entry), 4, most=20)) == [(1, "fail"), (2, "unlisted"), (3, "pass"), (4, "unlisted")]


def test_an_attempt_that_says_so_is_running() -> None:
    attempts = [{"attempt": 1, "reward": None, "status": "running"}, {"attempt": 2, "reward": 0, "status": "running"}]
    found = marks(read_cell({"passed_at": None, "attempts": attempts}), 2, most=20)
    assert states(found) == [(1, "running"), (2, "fail")]


def test_attempts_under_one_number_are_all_shown() -> None:
    attempts = [{"attempt": 1, "reward": 0}, {"attempt": 1, "reward": 1}]
    found = marks(read_cell({"passed_at": 1, "attempts": attempts}), 2, most=20)
    assert states(found) == [(1, "fail"), (1, "pass"), (2, "unlisted")]


def test_marks_beyond_what_is_shown_are_counted() -> None:
    found = marks(read_cell({"passed_at": None, "attempts": [{"attempt": 9_000, "reward": 0}]}), 10_000, most=5)
    assert states(found) == [(number, "unlisted") for number in range(1, 6)]
    assert found.left_out == 9_995


@given(entries, st.integers(1, 5), st.integers(1, 4))
def test_every_mark_is_shown_or_counted(entry: dict[str, Any], k_max: int, most: int) -> None:
    found, whole = (marks(read_cell(entry), k_max, most=limit) for limit in (most, 1000))
    assert found.shown == whole.shown[:most]
    assert len(found.shown) + found.left_out == len(whole.shown) == max(k_max, len(entry["attempts"]))
    assert sum(mark.state == "unmeasured" for mark in whole.shown) == [
        attempt["reward"] for attempt in entry["attempts"]
    ].count(None)


def test_tasks_are_chosen_by_what_they_are() -> None:
    table = table_of(
        {"difficulty": "easy", "reward_mode": "exact"},
        {"difficulty": "hard", "reward_mode": "llm"},
        {"reward_mode": "llm"},
    )
    assert chosen(table, View(difficulty=("easy", "none"))) == ["0", "2"]
    assert chosen(table, View(mode=("llm",))) == ["1", "2"]
    assert chosen(table, View(difficulty=("hard",), mode=("exact",))) == []


def test_tasks_are_chosen_by_what_came_of_them() -> None:
    table = table_of(
        {"cells": {KEY: PASSED, OTHER: PASSED}},
        {"cells": {KEY: PASSED, OTHER: FAILED}},
        {"cells": {KEY: PASSED, OTHER: DEAD}},
        {"cells": {KEY: FAILED, OTHER: DEAD}},
        {"cells": {KEY: DEAD, OTHER: DEAD}},
        {"cells": {}},
    )
    assert chosen(table, View(passed="any")) == ["0", "1", "2"]
    assert chosen(table, View(passed="all")) == ["0", "2"]
    assert chosen(table, View(passed="none")) == ["3"]
    assert chosen(table, View(disagreement=True)) == ["1"]
    assert chosen(table, View(infra="any")) == ["2", "3", "4"]
    assert chosen(table, View(infra="all")) == ["4"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("MEDIAN", ["0", "1"]),
        ("median price", ["1"]),
        ("price", ["1"]),
        ("0.4056", ["0"]),
        ("straße", ["2"]),
        ("STRASSE", ["2"]),
        ("  ", ["0", "1", "2"]),
        ("absent", []),
    ],
)
def test_words_are_looked_for_in_the_id_the_question_and_the_answer(words: str, found: list[str]) -> None:
    table = table_of(
        {"question": "What is the median?", "answer": "0.4056"},
        {"question": "The median of which column?", "answer": "price"},
        {"question": "Welche Straße?"},
    )
    assert chosen(table, View(q=words)) == found


def test_flipped_tasks_are_those_of_the_comparison() -> None:
    table = table_of(
        {"cells": {KEY: PASSED, OTHER: FAILED}},
        {"cells": {KEY: FAILED, OTHER: PASSED}},
        {"cells": {KEY: PASSED, OTHER: PASSED}},
    )
    by_key = {column.key: column for column in table.columns("both")}
    comparison = compare_columns(table, "both", by_key[KEY], by_key[OTHER])
    for flipped, found in (("any", [0, 1]), ("first", [0]), ("second", [1])):
        selection = choose(table, View(first=KEY, second=OTHER, flipped=flipped), comparison)  # type: ignore[arg-type]
        assert [row.position for row in selection.found] == found
    assert choose(table, View(flipped="any"), None).found == ()


def timed(attempts: list[tuple[float | None, int | None, float | None]]) -> dict[str, Any]:
    listed = [
        {"attempt": number, "reward": reward, "n_turns": turns, "elapsed_sec": seconds}
        for number, (reward, turns, seconds) in enumerate(attempts, start=1)
    ]
    return {"cells": {KEY: {"passed_at": None, "attempts": listed}}}


@pytest.mark.parametrize(
    ("sort", "ascending"),
    [("index", ["1", "2", "0", "3"]), ("id", ["0", "1", "2", "3"]), ("difficulty", ["2", "1", "3", "0"])],
)
def test_tasks_are_ordered_by_what_they_are(sort: str, ascending: list[str]) -> None:
    table = table_of(
        {"index": 7},
        {"index": 1, "difficulty_level": 2, "difficulty": "hard"},
        {"index": 2, "difficulty_level": 0, "difficulty": "easy"},
        {"difficulty": "easy"},
    )
    assert chosen(table, View(sort=sort)) == ascending


def test_tasks_are_ordered_by_what_came_of_them_and_unmeasured_ones_are_last() -> None:
    table = table_of(
        {"cells": {KEY: DEAD}},
        {"cells": {KEY: PASSED, OTHER: FAILED}},
        {"cells": {KEY: PASSED}},
        {"cells": {KEY: FAILED}},
    )
    assert chosen(table, View(sort="passes")) == ["3", "1", "2", "0"]
    assert chosen(table, View(sort="-passes")) == ["2", "1", "3", "0"]
    assert chosen(table, View(sort="-disagreement")) == ["1", "2", "3", "0"]


def test_turns_and_time_are_means_of_measured_attempts() -> None:
    table = table_of(
        timed([(0.0, 10, 5.0), (0.0, 20, None)]),
        timed([(None, 1, 1.0), (0.0, 14, 9.0)]),
        timed([(None, 1, 1.0)]),
    )
    assert [(row.turns, row.seconds) for row in table.rows] == [(15, 5), (14, 9), (None, None)]
    assert chosen(table, View(sort="turns")) == ["1", "0", "2"]
    assert chosen(table, View(sort="-time")) == ["1", "0", "2"]


@given(summaries, st.sampled_from(sorted(SORTS)), st.booleans())
@settings(max_examples=60)
def test_an_order_loses_no_task(document: dict[str, Any], sort: str, descending: bool) -> None:
    rows = Table(read_summary(document, Notes())).rows
    found = in_order(rows, sort, descending=descending)
    assert sorted(row.position for row in found) == [row.position for row in rows]
    keys = [key for key in map(SORTS[sort], found) if key is not None]
    assert keys == sorted(keys, reverse=descending)
    assert all(SORTS[sort](row) is None for row in found[len(keys) :])


@given(summaries, st.integers(1, SIZES[-1]), st.sampled_from(["index", "-passes", "id"]))
@settings(max_examples=60)
def test_pages_hold_every_task_once(document: dict[str, Any], size: int, sort: str) -> None:
    table = Table(read_summary(document, Notes()))
    first = choose(table, View(sort=sort, size=size), None)
    pages = [choose(table, View(sort=sort, size=size, page=number), None) for number in range(1, first.pages + 1)]
    assert tuple(row for page in pages for row in page.rows) == first.found
    assert len(first.found) == len(table.rows)
    assert [page.page for page in pages] == list(range(1, first.pages + 1))


def test_a_page_beyond_the_last_one_is_the_last_one() -> None:
    found: Selection = choose(table_of({}, {}, {}), View(size=2, page=9), None)
    assert (found.page, found.pages, [row.task.id for row in found.rows]) == (2, 2, ["2"])
    assert choose(table_of(), View(), None).pages == 1


def test_difficulties_are_offered_by_level_then_by_name() -> None:
    table = table_of(
        {"difficulty": "hard", "difficulty_level": 3},
        {"difficulty": "easy", "difficulty_level": 1},
        {"difficulty": "average"},
        {},
        {"difficulty": "easy"},
    )
    assert table.difficulties == ("easy", "hard", "average", None)
    assert table.reward_modes == (None,)
