"""The time that a report is about."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from oddish.accounting.window import BEGINNING, Window

NOW = datetime(2026, 11, 30, 9, 41, 12, tzinfo=UTC)
"""A Monday."""


def test_a_window_begins_with_an_hour_and_follows_one_of_the_same_length() -> None:
    week = Window(7, NOW)
    assert week.start == datetime(2026, 11, 23, 9, tzinfo=UTC)
    assert week.previous_start == datetime(2026, 11, 16, 9, tzinfo=UTC)
    assert week.month_start == datetime(2026, 11, 1, tzinfo=UTC)


def test_all_time_has_nothing_before_it() -> None:
    everything = Window(0, NOW)
    assert everything.start == everything.previous_start == BEGINNING


@pytest.mark.parametrize(
    ("days", "bucket", "first", "last", "count"),
    [
        (1, "hour", datetime(2026, 11, 29, 9, tzinfo=UTC), datetime(2026, 11, 30, 9, tzinfo=UTC), 25),
        (7, "day", datetime(2026, 11, 23, tzinfo=UTC), datetime(2026, 11, 30, tzinfo=UTC), 8),
        (93, "week", datetime(2026, 8, 24, tzinfo=UTC), datetime(2026, 11, 30, tzinfo=UTC), 15),
    ],
)
def test_steps_fill_the_window(days: int, bucket: str, first: datetime, last: datetime, count: int) -> None:
    window = Window(days, NOW)
    steps = window.buckets(set())
    assert (window.bucket, steps[0], steps[-1], len(steps)) == (bucket, first, last, count)
    assert len({after - before for before, after in pairwise(steps)}) == 1


def test_steps_of_all_time_begin_with_the_first_spend() -> None:
    monday = datetime(2026, 11, 2, tzinfo=UTC)
    steps = Window(0, NOW).buckets({monday + timedelta(weeks=2), monday})
    assert steps == [monday, monday + timedelta(weeks=1), monday + timedelta(weeks=2)]
    assert Window(0, NOW).buckets(set()) == []


def test_a_step_that_the_database_is_ahead_with_is_shown() -> None:
    ahead = datetime(2026, 12, 1, tzinfo=UTC)
    assert Window(7, NOW).buckets({ahead})[-1] == ahead
