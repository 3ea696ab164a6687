"""Leaderboards: each rate stands beside what it is a rate of and says how sure it is; nothing unmeasured is in it."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddish.outcome import PASS
from oddish.stats import Attempts, wilson
from oddish.viewer.aggregates import AXES, by
from oddish.viewer.columns import PIVOTS, Pivot
from oddish.viewer.findings import Notes
from oddish.viewer.leaderboards import Standing, ranked, standings
from oddish.viewer.summaries import read_summary
from oddish.viewer.tables import Table
from support.results import HARNESS, KEY, MODEL, cell, dataset

MODELS, HARNESSES = ("a", "b"), ("x", "y")

cells = st.lists(st.sampled_from([None, 0.0, 0.5, 1.0]), max_size=4).map(cell)
tasks = st.dictionaries(st.sampled_from([f"{model}|{harness}" for model in MODELS for harness in HARNESSES]), cells)
summaries = st.lists(tasks, max_size=5).map(lambda found: dataset(*found))
pivots = st.sampled_from(PIVOTS)


def board(document: dict[str, Any], pivot: Pivot = "both") -> dict[str, Standing]:
    table = Table(read_summary(document, Notes()))
    return standings(table, table.rows, pivot)


@pytest.mark.parametrize(("pivot", "key"), [("both", KEY), ("model", MODEL), ("harness", HARNESS)])
def test_dead_infrastructure_is_no_weak_model_and_is_told_beside_the_rate(pivot: Pivot, key: str) -> None:
    measured = [cell([0.0, 0.0, 1.0, 0.0]), cell([0.0] * 4), cell([0.0] * 4)]
    found = board(dataset(*({KEY: entry} for entry in [*measured, *[cell([None] * 4)] * 5])), pivot)[key]
    at_1, at_4 = found.rates
    assert (at_1.k, at_1.share, at_1.passed) == (1, 0, 0)
    assert (at_4.k, at_4.passed) == (4, 1)
    assert at_4.share == pytest.approx(0.333, abs=0.001)
    assert (found.measured_cells, found.cells) == (3, 8)
    assert (found.measured_tasks, found.tasks) == (3, 8)
    assert (found.measured_attempts, found.attempts) == (12, 32)
    assert (at_4.method, at_4.interval) == ("wilson", wilson(Attempts(3, 1)))


def test_a_column_of_which_nothing_was_measured_has_no_rate() -> None:
    (found,) = board(dataset({KEY: cell([None] * 4)})).values()
    assert {(rate.share, rate.interval, rate.method) for rate in found.rates} == {(None, None, None)}
    assert (found.measured_cells, found.cells, found.mean_turns) == (0, 1, None)


def test_a_single_attempt_has_one_rate() -> None:
    (found,) = board(dataset({KEY: cell([1.0])}, k_max=1)).values()
    assert [(rate.k, rate.share) for rate in found.rates] == [(1, 1)]


def test_cells_of_one_task_are_not_taken_for_independent_ones() -> None:
    passed, failed = cell([1.0]), cell([0.0])
    tasks = [{"m|x": entry, "m|y": entry} for entry in [passed, failed] * 10]
    whole = board(dataset(*tasks, k_max=1), "model")["m"].rates[0]
    alone = board(dataset(*tasks, k_max=1), "both")["m|x"].rates[0]
    assert (whole.method, alone.method) == ("clustered", "wilson")
    assert whole.interval is not None
    assert alone.interval is not None
    assert whole.interval.high - whole.interval.low == pytest.approx(alone.interval.high - alone.interval.low, rel=0.2)


@pytest.mark.parametrize(("reward", "end"), [(1.0, "high"), (0.0, "low")])
def test_cells_that_all_did_the_same_leave_room_for_doubt(reward: float, end: str) -> None:
    tasks = [{"m|x": cell([reward]), "m|y": cell([reward])}] * 5
    rate = board(dataset(*tasks, k_max=1), "model")["m"].rates[0]
    assert (rate.share, rate.method) == (reward, "wilson over tasks")
    assert rate.interval == wilson(Attempts(5, 5 * round(reward)))
    assert getattr(rate.interval, end) == reward


def test_rewards_between_0_and_1_are_averaged_by_task() -> None:
    document = dataset({KEY: cell([0.5, 0.0, 1.0, 0.5])}, {KEY: cell([0.25])}, {KEY: cell([None])})
    (found,) = board(document).values()
    assert found.mean_reward is not None
    assert (found.mean_reward.mean, found.mean_reward.tasks, found.mean_reward.left_out) == (0.375, 2, 1)
    (whole,) = board(dataset({KEY: cell([0.0, 1.0])})).values()
    assert whole.mean_reward is None


def test_the_best_column_is_first_and_one_without_a_measured_cell_last() -> None:
    columns = {
        "none|x": [None, None],
        "late|x": [0.0, 1.0],
        "never|x": [0.0, 0.0],
        "soon|x": [1.0, 0.0],
    }
    found = board(dataset({key: cell(rewards) for key, rewards in columns.items()}, k_max=2))
    assert [standing.column.key for standing in ranked(found.values())] == ["soon|x", "late|x", "never|x", "none|x"]


def test_columns_stand_in_the_order_of_the_file() -> None:
    keys = ["b|y", "a|y", "b|x", "nameless"]
    document = dataset({key: cell([1.0]) for key in keys}) | {"models": ["b", "a"], "harnesses": ["y", "x"]}
    assert list(board(document)) == ["b|y", "b|x", "a|y", "nameless"]
    assert list(board(document, "model")) == ["b", "a", "nameless"]
    assert list(board(document, "harness")) == ["y", "x", ""]


@given(summaries)
@settings(max_examples=60)
def test_models_and_harnesses_rate_as_the_contract_says(document: dict[str, Any]) -> None:
    summary = read_summary(document, Notes())
    for axis in AXES:
        expected, found = by(axis, summary), board(document, axis)
        assert list(found) == list(expected)
        for name, standing in found.items():
            group = expected[name].group
            assert {rate.k: rate.share for rate in standing.rates} == group.pass_at
            assert (standing.cells, standing.measured_cells) == (group.cells, group.n_measured)
            assert standing.mean_turns == expected[name].mean_turns


@given(summaries, pivots)
@settings(max_examples=60)
def test_no_rate_is_outside_its_interval_or_grows_with_fewer_attempts(document: dict[str, Any], pivot: Pivot) -> None:
    for found in board(document, pivot).values():
        shares = [rate.share for rate in found.rates]
        assert (None in shares) == (found.measured_cells == 0)
        assert shares == sorted(share for share in shares if share is not None) or None in shares
        for rate in found.rates:
            if rate.interval is not None and rate.share is not None:
                assert 0 <= rate.interval.low <= rate.share <= rate.interval.high <= 1
                assert rate.passed == round(rate.share * found.measured_cells)
            assert (rate.interval is None) == (rate.method is None)


@given(summaries, pivots)
@settings(max_examples=60)
def test_every_attempt_is_counted_in_one_column(document: dict[str, Any], pivot: Pivot) -> None:
    attempts = [
        attempt["reward"]
        for task in document["tasks"]
        for entry in task["cells"].values()
        for attempt in entry["attempts"]
    ]
    found = board(document, pivot).values()
    assert sum(standing.attempts for standing in found) == len(attempts)
    assert sum(standing.measured_attempts for standing in found) == len(attempts) - attempts.count(None)


@given(summaries, pivots, st.data())
@settings(max_examples=60)
def test_rows_of_a_set_rate_like_a_dataset_of_them_alone(document: dict[str, Any], pivot: Pivot, data: Any) -> None:
    chosen = (
        data.draw(st.lists(st.sampled_from(range(len(document["tasks"]))), unique=True)) if document["tasks"] else []
    )
    table = Table(read_summary(document, Notes()))
    found = standings(table, [table.rows[position] for position in chosen], pivot)
    alone = board(document | {"tasks": [document["tasks"][position] for position in chosen]}, pivot)
    graded = any(
        reward not in (None, 0, PASS)
        for task in document["tasks"]
        for entry in task["cells"].values()
        for reward in (attempt["reward"] for attempt in entry["attempts"])
    )
    for key, standing in found.items():
        if key in alone:
            assert standing.rates == alone[key].rates
            assert (standing.mean_reward is None) == (not graded)
        else:
            assert (standing.cells, standing.measured_cells) == (0, 0)
