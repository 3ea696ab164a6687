from dataclasses import dataclass

from oddish.stack.idle import Idleness

MINUTE = 60.0


@dataclass
class Clock:
    time: float = 1_000_000.0

    def __call__(self) -> float:
        return self.time


def started(limit: float) -> tuple[Clock, Idleness]:
    clock = Clock()
    idleness = Idleness(limit, clock)
    idleness.start()
    return clock, idleness


def test_it_is_over_when_the_limit_has_passed_without_requests_or_work() -> None:
    clock, idleness = started(15 * MINUTE)
    clock.time += 15 * MINUTE - 1
    assert not idleness.over(0.0, lambda: False)
    clock.time += 1
    assert idleness.over(0.0, lambda: False)


def test_a_request_starts_the_count_again() -> None:
    clock, idleness = started(15 * MINUTE)
    request = clock.time + 10 * MINUTE
    clock.time += 20 * MINUTE
    assert not idleness.over(request, lambda: False)
    clock.time = request + 15 * MINUTE
    assert idleness.over(request, lambda: False)


def test_unfinished_work_holds_it_and_the_count_starts_when_it_was_last_seen() -> None:
    clock, idleness = started(15 * MINUTE)
    clock.time += 60 * MINUTE
    assert not idleness.over(0.0, lambda: True)
    clock.time += 14 * MINUTE
    assert not idleness.over(0.0, lambda: False)
    clock.time += MINUTE
    assert idleness.over(0.0, lambda: False)


def test_zero_never_stops_and_asks_nobody() -> None:
    clock, idleness = started(0.0)
    clock.time += 10_000 * MINUTE
    assert not idleness.over(0.0, lambda: 1 / 0 > 0)
