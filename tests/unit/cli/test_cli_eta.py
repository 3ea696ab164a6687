"""An estimate that is honest: nothing without evidence, nothing absurd with it."""

import heapq

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddish.cli.eta import ENOUGH, LONGEST, Span, eta, rough

MOMENT = st.floats(0, 1e7)
SPAN = st.tuples(MOMENT, st.floats(0, 1e6)).map(lambda pair: Span(pair[0], pair[0] + pair[1]))
ANYTHING = st.tuples(st.lists(SPAN, max_size=30), st.lists(MOMENT, max_size=30), st.integers(0, 10_000), MOMENT)
DURATION = st.floats(1, 1000)


class Run:
    """A run in which ``slots`` trials are worked on at a time, each as soon as there is a place for it."""

    def __init__(self, durations: list[float], slots: int) -> None:
        free = [0.0] * min(slots, len(durations))
        self.spans: list[Span] = []
        for duration in durations:
            start = heapq.heappop(free)
            self.spans.append(Span(start, start + duration))
            heapq.heappush(free, start + duration)
        self.end = max(span.end for span in self.spans)

    def estimate(self, now: float) -> float | None:
        finished = [span for span in self.spans if span.end <= now]
        running = [span.start for span in self.spans if span.start <= now < span.end]
        return eta(finished, running, len(self.spans) - len(finished) - len(running), now)


@given(ANYTHING)
def test_any_past_gives_a_time_to_come_or_none(past: tuple[list[Span], list[float], int, float]) -> None:
    seconds = eta(*past)
    assert seconds is None or 0 <= seconds <= LONGEST


@given(ANYTHING)
def test_nothing_is_said_before_there_is_evidence(past: tuple[list[Span], list[float], int, float]) -> None:
    finished, running, waiting, now = past
    assert eta(finished[: ENOUGH - 1], running, waiting + 1, now) is None
    assert eta(finished, [], 0, now) == 0


@given(ANYTHING, st.integers(1, 1000))
def test_more_that_waits_never_ends_earlier(past: tuple[list[Span], list[float], int, float], more: int) -> None:
    finished, running, waiting, now = past
    fewer, many = eta(finished, running, waiting, now), eta(finished, running, waiting + more, now)
    if fewer is not None and many is not None:
        assert many >= fewer - 1e-6


@given(DURATION, st.integers(1, 60), st.integers(ENOUGH, 300), st.floats(0, 1), st.floats(-1e6, 1e6))
def test_equal_trials_are_foreseen_to_within_two_of_them(
    duration: float, slots: int, count: int, part: float, shift: float
) -> None:
    run = Run([duration] * count, slots)
    now = duration * ENOUGH + part * max(0.0, run.end - duration * ENOUGH)
    finished = [span for span in run.spans if span.end <= now]
    running = [span.start for span in run.spans if span.start <= now < span.end]
    if len(finished) < ENOUGH or now > run.end:
        return
    estimate = run.estimate(now)
    assert estimate is not None
    assert abs(estimate - (run.end - now)) <= 2.01 * duration
    moved = [Span(span.start + shift, span.end + shift) for span in finished]
    waiting = count - len(finished) - len(running)
    assert eta(moved, [start + shift for start in running], waiting, now + shift) == pytest.approx(estimate, abs=0.01)


@given(st.lists(DURATION, min_size=40, max_size=120), st.integers(1, 8), st.floats(0.3, 0.9))
def test_unequal_trials_are_foreseen_to_within_a_small_factor(durations: list[float], slots: int, part: float) -> None:
    run = Run(durations, slots)
    now = part * run.end
    estimate = run.estimate(now)
    if estimate is not None:
        assert estimate <= 5 * (run.end - now) + 5 * max(durations)


def test_a_first_wave_is_not_taken_for_the_pace_of_the_whole() -> None:
    """Three of a hundred have finished a little earlier than the rest will."""
    run = Run([50.0] * 3 + [60.0] * 97 + [60.0] * 900, 100)
    estimate = run.estimate(51.0)
    assert estimate == pytest.approx(run.end - 51, rel=0.25)


def test_a_burst_of_finishes_is_not_taken_for_the_pace_of_the_whole() -> None:
    run = Run([60.0] * 40, 4)
    assert run.estimate(60.001) == pytest.approx(540, rel=0.25)


def test_a_standstill_lengthens_the_estimate_until_nothing_is_known() -> None:
    done = [Span(10.0 * index, 10.0 * index + 10) for index in range(5)]
    estimates = [eta(done, [], 5, 50.0 + waited) for waited in (0, 10, 19)]
    assert estimates == sorted(estimates, key=lambda seconds: seconds or 0)
    assert eta(done, [], 5, 80.0) is None


def test_one_that_outlasts_all_others_is_given_more_time() -> None:
    done = [Span(0, 10)] * 9
    assert eta(done, [0.0], 0, 5.0) == 5
    assert eta(done, [0.0], 0, 100.0) == 25


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "a few seconds"), (9.9, "a few seconds"), (14, "about 10 s"), (54, "about 50 s"), (55, "about 1 min"),
        (100, "about 2 min"), (240, "about 4 min"), (9.9 * 60, "about 10 min"), (23 * 60, "about 25 min"),
        (57 * 60, "about 55 min"), (58 * 60, "about 1 h"), (5400, "about 1.5 h"), (6 * 3600, "about 6 h"),
        (46 * 3600, "about 46 h"), (47 * 3600, "about 2 days"), (LONGEST - 1, "about 30 days"),
        (LONGEST, "more than 30 days"),
    ],
)  # fmt: skip
def test_an_estimate_is_a_rough_figure(seconds: float, text: str) -> None:
    assert rough(seconds) == text


@given(st.floats(0, LONGEST))
def test_a_rough_figure_is_near_the_estimate(seconds: float) -> None:
    words = rough(seconds).split()
    if words[0] == "about":
        unit = {"s": 1, "min": 60, "h": 3600, "days": 86_400}[words[2]]
        assert float(words[1]) * unit == pytest.approx(seconds, rel=0.35)
