"""When a worker that was told to end does so."""

import math

from oddish.worker.draining import Draining


def test_a_worker_that_was_not_told_to_end_goes_on() -> None:
    draining = Draining(10)
    assert not draining.begun
    assert not draining.due(now=0, running=0)
    assert draining.remaining(now=0) == math.inf


def test_what_runs_may_end_for_a_while() -> None:
    draining = Draining(10)
    draining.begin(now=100)
    assert draining.begun
    assert not draining.due(now=105, running=1)
    assert draining.remaining(now=105) == 5
    assert draining.due(now=110, running=1)


def test_nothing_is_waited_for_when_nothing_runs() -> None:
    draining = Draining(10)
    draining.begin(now=100)
    assert draining.due(now=100, running=0)


def test_told_twice_it_does_not_wait() -> None:
    draining = Draining(1000)
    draining.begin(now=100)
    draining.begin(now=101)
    assert draining.due(now=101, running=3)


def test_without_patience_it_ends_at_once() -> None:
    draining = Draining(0)
    draining.begin(now=100)
    assert draining.due(now=100, running=3)
