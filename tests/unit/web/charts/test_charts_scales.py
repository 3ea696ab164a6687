"""Every value has its place in a drawing, and the numbers at its edge are round and told apart."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddish.web.charts.scales import Scale, figures, labels, nice_step

VALUES = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=6)


@given(VALUES, st.sampled_from([0.0, 0.05]))
@settings(max_examples=100)
def test_a_scale_holds_its_values_in_their_order(values: list[float], margin: float) -> None:
    scale = Scale.over(values, 100.0, 20.0, margin=margin)
    places = [scale.at(value) for value in sorted(values)]
    assert all(20.0 - 1e-6 <= place <= 100.0 + 1e-6 for place in places)
    assert places == sorted(places, reverse=True)


@given(VALUES, st.integers(3, 8))
@settings(max_examples=100)
def test_ticks_are_few_lie_inside_and_are_told_apart(values: list[float], most: int) -> None:
    scale = Scale.over(values, 0.0, 100.0)
    ticks = scale.ticks(most)
    assert 1 <= len(ticks) <= most + 1
    assert all(-1e-6 <= scale.at(tick) <= 100.0 + 1e-6 for tick in ticks)
    assert ticks == sorted(set(ticks))
    span = max(map(abs, ticks))
    if span == 0 or (ticks[-1] - ticks[0]) / span > 1e-5:
        assert len(set(labels(ticks))) == len(ticks)


@given(st.floats(1e-290, 1e290))
def test_a_step_is_one_two_or_five_times_a_power_of_ten(least: float) -> None:
    step = nice_step(least)
    assert least * (1 - 1e-6) <= step <= least * 2.5 * (1 + 1e-6)
    assert math.isclose(float(f"{step:.0e}"), step, rel_tol=1e-6)
    assert f"{step:.0e}"[0] in "125"


def test_a_single_value_lies_in_the_middle() -> None:
    assert Scale.over([3.0], 0.0, 100.0).at(3.0) == pytest.approx(50)
    assert Scale.over([0.0, 0.0], 0.0, 100.0).at(0.0) == pytest.approx(50)


def test_nothing_at_all_has_a_scale_too() -> None:
    assert Scale.over([], 0.0, 10.0).ticks(2) == [0.0, 0.5, 1.0]


def test_a_margin_does_not_lead_below_zero() -> None:
    assert Scale.over([0.0, 8.0], 0.0, 1.0, margin=0.1).low == 0
    assert Scale.over([-1.0, 1.0], 0.0, 1.0, margin=0.1).low == -1.2


@pytest.mark.parametrize(
    ("ticks", "said"),
    [
        ([0.0, 0.2, 0.4], ["0", "0.2", "0.4"]),
        ([-0.05, 0.0, 0.05], ["−0.05", "0", "0.05"]),
        ([0.0, 50_000.0, 100_000.0], ["0", "50,000", "100,000"]),
        ([0.0, 1e8, 2e8], ["0", "1e+08", "2e+08"]),
        ([9e8, 9.5e8, 1e9], ["9.00e+08", "9.50e+08", "1.00e+09"]),
        ([0.0, 2e-9, 4e-9], ["0", "2e-09", "4e-09"]),
        ([3.0], ["3"]),
        ([], []),
    ],
)
def test_ticks_have_as_many_figures_as_they_need(ticks: list[float], said: list[str]) -> None:
    assert labels(ticks) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (12_345.0, "12,345"),
        (0.82912, "0.8291"),
        (-3.0, "−3"),
        (1.5e-7, "1.5e-07"),
        (1e300, "1e+300"),
        (1234.5, "1,234"),
    ],
)
def test_a_value_has_four_significant_figures(value: float, said: str) -> None:
    assert figures(value) == said
