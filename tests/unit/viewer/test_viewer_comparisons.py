"""Two columns are compared on the tasks that both have, and what cannot be told is not told."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddish.viewer.columns import PIVOTS, Pivot
from oddish.viewer.comparisons import Comparison, compare_columns
from oddish.viewer.findings import Notes
from oddish.viewer.summaries import read_summary
from oddish.viewer.tables import Row, Table
from support.results import cell, dataset

FIRST, SECOND = "a|x", "b|y"

cells = st.lists(st.sampled_from([None, 0.0, 1.0]), max_size=3).map(cell)
tasks = st.dictionaries(st.sampled_from(["a|x", "a|y", "b|x", "b|y"]), cells)
summaries = st.lists(tasks, min_size=1, max_size=6).map(
    lambda found: dataset({"a|x": cell([1.0]), "b|y": cell([0.0])}, *found, k_max=3)
)


def compared(document: dict[str, Any], pivot: Pivot = "both") -> Comparison:
    table = Table(read_summary(document, Notes()))
    first, *_, second = table.columns(pivot)
    return compare_columns(table, pivot, first, second)


def ids(rows: tuple[Row, ...]) -> list[str]:
    return [row.task.id for row in rows]


def pairs(*rewards: tuple[float | None, float | None]) -> dict[str, Any]:
    """A dataset of one attempt in each of two cells of each task."""
    return dataset(*({FIRST: cell([first]), SECOND: cell([second])} for first, second in rewards), k_max=1)


def test_tasks_that_flipped_are_named_and_unmeasured_ones_are_no_losses() -> None:
    found = compared(pairs((1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (None, 1.0), (1.0, None)))
    (contest,) = found.contests
    assert (ids(found.won), ids(found.lost)) == (["task-0"], ["task-1"])
    assert (contest.paired.wins, contest.paired.ties, contest.paired.losses) == (1, 1, 1)
    assert (contest.paired.difference.tasks, contest.paired.difference.left_out) == (3, 2)


def test_a_task_without_one_of_the_cells_is_left_out_and_counted() -> None:
    found = compared(dataset({FIRST: cell([1.0]), SECOND: cell([0.0])}, {FIRST: cell([1.0])}, k_max=1))
    assert (found.contests[0].paired.difference.tasks, found.contests[0].paired.difference.left_out) == (1, 1)
    assert ids(found.won) == ["task-0"]


def test_passing_later_shows_at_one_attempt_alone() -> None:
    found = compared(dataset({FIRST: cell([0.0, 1.0]), SECOND: cell([1.0, 0.0])}, k_max=2))
    assert [(contest.measure, contest.paired.losses) for contest in found.contests] == [("pass@1", 1), ("pass@2", 0)]
    assert (found.won, found.lost) == ((), ())


def test_rewards_are_compared_where_they_are_more_than_passes() -> None:
    found = compared(pairs((0.5, 0.25), (0.75, 0.5)))
    assert [contest.measure for contest in found.contests] == ["pass@1", "reward"]
    assert (found.contests[1].paired.difference.mean, found.contests[1].paired.wins) == (0.25, 2)


@pytest.mark.parametrize(
    ("rewards", "verdict"),
    [
        ([(1.0, 0.0)] * 19 + [(0.0, 0.0)], "first"),
        ([(0.0, 1.0)] * 19 + [(0.0, 0.0)], "second"),
        ([(1.0, 0.0), (0.0, 1.0)] * 10, "open"),
        ([(1.0, 0.0)], "open"),
        ([(None, 0.0)] * 5, "open"),
        ([(1.0, 1.0)] * 5, "open"),
    ],
)
def test_a_difference_is_told_when_its_interval_leaves_out_zero(
    rewards: list[tuple[float | None, float | None]], verdict: str
) -> None:
    (contest,) = compared(pairs(*rewards)).contests
    assert contest.verdict == verdict


def test_what_could_have_been_told_shrinks_with_the_tasks() -> None:
    few, many = (compared(pairs(*[(1.0, 0.0), (0.0, 1.0)] * count)).contests[0].detectable for count in (5, 50))
    assert few is not None
    assert many is not None
    assert many < few < 2
    assert compared(pairs((1.0, 1.0), (0.0, 0.0))).contests[0].detectable is None


@given(summaries, st.sampled_from(PIVOTS))
@settings(max_examples=60)
def test_the_other_way_round_everything_is_turned(document: dict[str, Any], pivot: Pivot) -> None:
    table = Table(read_summary(document, Notes()))
    first, *_, second = table.columns(pivot)
    there, back = compare_columns(table, pivot, first, second), compare_columns(table, pivot, second, first)
    assert (there.won, there.lost) == (back.lost, back.won)
    for ours, theirs in zip(there.contests, back.contests, strict=True):
        assert (ours.paired.wins, ours.paired.ties) == (theirs.paired.losses, theirs.paired.ties)
        assert ours.paired.difference.mean == -(theirs.paired.difference.mean or 0)
        assert (ours.verdict == "first") == (theirs.verdict == "second")
    assert (len(there.won), len(there.lost)) == (there.contests[-1].paired.wins, there.contests[-1].paired.losses)
