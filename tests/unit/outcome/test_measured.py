"""The measured policy over cells and tasks: null is not zero."""

import math

import pytest

from oddish.outcome import MeasuredSummary, measured_cell, measured_group, measured_summary

INFRA = measured_cell([None, None])


def test_the_first_pass_is_an_attempts_number() -> None:
    assert measured_cell([0.0, 0.0, 1.0, 1.0]).passed_at == 3
    assert measured_cell([None, 1.0]).passed_at == 2
    assert measured_cell([0.0, None]).passed_at is None


def test_only_exactly_one_is_a_pass() -> None:
    assert measured_cell([0.999999, 1.0000001, 2.0, -1.0]).passed == 0


def test_what_is_no_number_was_not_measured() -> None:
    assert measured_cell([math.nan, math.inf, None, 0.5]).measured == 1


def test_dead_infrastructure_does_not_look_like_a_weak_model() -> None:
    cells = [measured_cell([1.0]), measured_cell([0.0]), measured_cell([0.0]), *[measured_cell([None])] * 5]
    found = measured_group(cells, [1, 4])
    assert (found.cells, found.n_measured) == (8, 3)
    assert found.pass_at == {1: pytest.approx(1 / 3), 4: pytest.approx(1 / 3)}


def test_rates_go_by_the_first_pass() -> None:
    assert measured_cell([None, 1.0]).passes_within(1) is False
    assert measured_cell([None, 1.0]).passes_within(2) is True
    assert measured_cell([0.0, 1.0]).passes_within(1) is False
    assert measured_cell([0.0]).passes_within(4) is False
    assert INFRA.passes_within(1) is None
    assert measured_group([INFRA], [1]).pass_at == {1: None}


def test_k_is_at_least_one() -> None:
    for cell in (INFRA, measured_cell([1.0])):
        with pytest.raises(ValueError, match="k=0 is below 1"):
            cell.passes_within(0)


def test_a_task_is_all_infra_when_no_cell_of_it_was_measured() -> None:
    tasks = {
        "solved": [measured_cell([0.0, 1.0]), INFRA],
        "failed": [measured_cell([0.0, None])],
        "dead": [INFRA, INFRA],
        "never tried": [measured_cell([])],
    }
    assert measured_summary(tasks) == MeasuredSummary(
        tasks_total=4, tasks_any_pass=1, attempts_total=10, attempts_passed=1, n_all_infra=1
    )
