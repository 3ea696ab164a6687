"""Delays between executions."""

import random

from hypothesis import given
from hypothesis import strategies as st

from oddish.queue.policy import JITTER, MAX_DELAY_SECONDS, loss_delay, retry_delay

classes = st.sampled_from(["backoff", "rate_limit"])
attempts = st.integers(1, 50)


@given(classes, attempts, st.none() | st.floats(0, 10_000), st.integers())
def test_a_delay_is_positive_and_bounded(retry_class, attempt, retry_after, seed) -> None:
    delay = retry_delay(retry_class, attempt, retry_after=retry_after, rng=random.Random(seed))
    assert 0 < delay <= MAX_DELAY_SECONDS * (1 + JITTER)


@given(attempts, st.integers())
def test_a_rate_limit_waits_at_least_as_long_as_another_failure(attempt, seed) -> None:
    delays = [retry_delay(kind, attempt, rng=random.Random(seed)) for kind in ("backoff", "rate_limit")]
    assert delays == sorted(delays)


@given(classes, attempts, st.floats(0, MAX_DELAY_SECONDS), st.integers())
def test_what_the_provider_asks_for_is_honoured(retry_class, attempt, retry_after, seed) -> None:
    assert retry_delay(retry_class, attempt, retry_after=retry_after, rng=random.Random(seed)) >= retry_after


def test_losses_wait_a_little_longer_each_time() -> None:
    assert [loss_delay(losses) for losses in (1, 2, 3, 20)] == [1, 2, 4, 60]
