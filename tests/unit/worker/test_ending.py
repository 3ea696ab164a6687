"""When a worker that was told to end does so."""

import math

from oddish.worker.ending import Ending


def test_a_worker_that_was_not_told_to_end_goes_on() -> None:
    ending = Ending(10)
    assert not ending.begun
    assert not ending.due(now=0, running=0)
    assert ending.remaining(now=0) == math.inf


def test_what_runs_may_end_for_a_while() -> None:
    ending = Ending(10)
    ending.begin(now=100)
    assert ending.begun
    assert not ending.due(now=105, running=1)
    assert ending.remaining(now=105) == 5
    assert ending.due(now=110, running=1)


def test_nothing_is_waited_for_when_nothing_runs() -> None:
    ending = Ending(10)
    ending.begin(now=100)
    assert ending.due(now=100, running=0)


def test_told_twice_it_does_not_wait() -> None:
    ending = Ending(1000)
    ending.begin(now=100)
    ending.begin(now=101)
    assert ending.due(now=101, running=3)


def test_without_patience_it_ends_at_once() -> None:
    ending = Ending(0)
    ending.begin(now=100)
    assert ending.due(now=100, running=3)
