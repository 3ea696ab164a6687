from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from oddish.client.retry import RetryPolicy
from oddish.httpdates import retry_after


def test_delays_grow_up_to_the_cap() -> None:
    policy = RetryPolicy(base=1, cap=4)
    delays = [policy.delay(attempt) for attempt in (1, 2, 3, 10)]
    for delay, ceiling in zip(delays, (1, 2, 4, 4), strict=True):
        assert ceiling / 2 <= delay <= ceiling


def test_jitter_spreads_delays() -> None:
    assert len({RetryPolicy().delay(3) for _ in range(20)}) > 1


def test_the_server_is_never_asked_earlier_than_it_wants() -> None:
    assert RetryPolicy().delay(1, 7.0) >= 7


def test_an_absurd_wait_is_capped() -> None:
    assert RetryPolicy(retry_after_cap=60).delay(1, 86_400) == 60


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (200, False),
        (404, False),
        (409, False),
        (408, True),
        (429, True),
        (503, True),
        (520, True),
        (501, False),
        (507, False),
    ],
)
def test_which_answers_are_worth_repeating(status: int, expected: bool) -> None:
    assert RetryPolicy.worth_repeating(status) is expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, None), ("3", 3.0), ("-1", 0.0), ("soon", None), ("Thu, 01 Jan 99999999999 00:00:00 GMT", None)],
)
def test_retry_after_as_a_number(value: str | None, expected: float | None) -> None:
    assert retry_after({} if value is None else {"retry-after": value}) == expected


def test_retry_after_as_a_date() -> None:
    wait = retry_after({"retry-after": format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)})
    assert wait is not None
    assert 25 < wait <= 30
