"""Figures as pages show them."""

import math

import pytest

from oddish.web import wording


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), (0.0, "0.000"), (1 / 3, "0.333"), (1.0, "1.000"), (0.125, "0.125")],
)
def test_a_rate_has_three_decimals(value: float | None, shown: str) -> None:
    assert wording.rate(value) == shown


def test_an_interval_has_both_of_its_bounds() -> None:
    assert wording.interval((0.05, 0.5)) == "0.050 to 0.500"
    assert wording.interval(None) == "–"


def test_a_difference_says_in_which_direction() -> None:
    assert [wording.signed(value) for value in (0.25, -0.25, None)] == ["+0.250", "−0.250", "–"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (-0.0, "0"),
        (12, "12"),
        (12.5, "12.5"),
        (-1.5, "−1.5"),
        (12345.6789, "12,345.679"),
        (1e-9, "1e−09"),
        (-math.inf, "−∞"),
    ],
)
def test_a_number_has_as_many_decimals_as_it_needs(value: float, shown: str) -> None:
    assert wording.number(value) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "–"),
        (0.041, "41 ms"),
        (41.2, "41.2 s"),
        (59.96, "1 min 00 s"),
        (95, "1 min 35 s"),
        (3599.6, "1 h 00 min"),
        (7500, "2 h 05 min"),
        (1e308, "2.78e+304 h"),
        (math.inf, "∞ h"),
    ],
)
def test_a_duration_is_in_units_that_people_think_in(seconds: float | None, shown: str) -> None:
    assert wording.duration(seconds) == shown


def test_sizes_and_counts() -> None:
    assert [wording.size(value) for value in (None, 12, 2048, 50 * 2**20)] == ["–", "12 B", "2.0 KiB", "50.0 MiB"]
    assert [wording.count(value) for value in (None, 1234567)] == ["–", "1,234,567"]
    assert [wording.plural(value, "task") for value in (0, 1, 2000)] == ["0 tasks", "1 task", "2,000 tasks"]
