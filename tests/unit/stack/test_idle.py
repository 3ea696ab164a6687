from dataclasses import dataclass

from oddish.stack.idle import Idleness

MINUTE = 60.0


@dataclass
class Clock:
    time: float = 1_700_000_000.0

    def __call__(self) -> float:
        return self.time


def started(limit: float) -> tuple[Clock, Idleness]:
    clock = Clock()
    idleness = Idleness(limit, clock)
    idleness.start()
    return clock, idleness


def looks(clock: Clock, idleness: Idleness, minutes: float, *, activity: float = 0.0, busy: bool = False) -> list[bool]:
    """What each look says while ``minutes`` pass and the machine is awake."""
    answers = []
    for _ in range(round(minutes)):
        clock.time += MINUTE
        answers.append(idleness.over(activity, lambda: busy))
    return answers


def test_it_is_over_when_the_limit_has_passed_without_requests_or_work() -> None:
    clock, idleness = started(15 * MINUTE)
    assert looks(clock, idleness, 15) == [False] * 14 + [True]


def test_a_request_starts_the_count_again() -> None:
    clock, idleness = started(15 * MINUTE)
    request = clock.time + 10 * MINUTE
    assert looks(clock, idleness, 25, activity=request) == [False] * 24 + [True]


def test_unfinished_work_holds_it_and_the_count_starts_when_it_was_last_seen() -> None:
    clock, idleness = started(15 * MINUTE)
    assert looks(clock, idleness, 60, busy=True) == [False] * 60
    assert looks(clock, idleness, 15) == [False] * 14 + [True]


def test_the_hours_that_a_laptop_sleeps_are_not_idle() -> None:
    clock, idleness = started(15 * MINUTE)
    looks(clock, idleness, 10)
    clock.time += 8 * 60 * MINUTE
    assert not idleness.over(0.0, lambda: False)
    assert looks(clock, idleness, 4)[-1]


def test_a_clock_that_was_put_back_makes_no_stack_stay_for_ever() -> None:
    clock, idleness = started(15 * MINUTE)
    clock.time -= 365 * 24 * 60 * MINUTE
    assert not idleness.over(0.0, lambda: False)
    assert looks(clock, idleness, 15)[-1]


def test_zero_never_stops_and_asks_nobody() -> None:
    clock, idleness = started(0.0)
    clock.time += 10_000 * MINUTE
    assert not idleness.over(0.0, lambda: 1 / 0 > 0)
