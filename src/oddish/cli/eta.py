"""How long the unfinished trials of a run may take, judged by those that have finished. Pure.

The work that is left is what waits and what runs, each taken to last as long as recent trials did, and done by as many
at a time as have been running lately. Where nothing waits any more, the end is that of the slowest one that runs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

ENOUGH = 3
"""Finished trials before anything is said."""
RECENT = 100
WINDOW = 2.0
"""How far back the number of running trials is averaged, in durations of a trial."""
OVERDUE = 0.25
"""What a trial that has outlasted all others may still take, in parts of what it has taken."""
LONGEST = 30 * 86_400.0


@dataclass(frozen=True)
class Span:
    """From the start to the end of a trial, in seconds on any one clock."""

    start: float
    end: float

    @property
    def seconds(self) -> float:
        return max(0.0, self.end - self.start)

    def within(self, start: float, end: float) -> float:
        """Seconds of it between two moments."""
        return max(0.0, min(self.end, end) - max(self.start, start))


def eta(finished: Sequence[Span], running: Sequence[float], waiting: int, now: float) -> float | None:
    """Seconds from ``now`` until all have ended; None while nothing is known or nothing runs.

    ``running`` are the starts of the trials that run, ``waiting`` how many have yet to start. Never negative.
    """
    if not (running or waiting):
        return 0.0
    if len(finished) < ENOUGH:
        return None
    recent = sorted(finished, key=lambda span: span.end)[-RECENT:]
    ages = [max(0.0, now - start) for start in running]
    longest = max(span.seconds for span in recent)
    tail = max((max(longest - age, OVERDUE * age) for age in ages), default=0.0)
    if not waiting:
        return min(LONGEST, tail)
    typical = _typical(recent, ages)
    at_a_time = _at_a_time([*recent, *(Span(start, now) for start in running)], typical, now)
    if at_a_time <= 0.0:
        return None
    return min(LONGEST, max(tail, waiting * typical / at_a_time + typical))


def _typical(recent: Sequence[Span], ages: Sequence[float]) -> float:
    """The mean duration, in which those that run count once they have run for longer than that."""
    mean = math.fsum(span.seconds for span in recent) / len(recent)
    longer = [age for age in ages if age > mean]
    return (mean * len(recent) + math.fsum(longer)) / (len(recent) + len(longer))


def _at_a_time(spans: Sequence[Span], typical: float, now: float) -> float:
    """How many have been running on average, counted from the first of ``spans`` when that is not long ago."""
    since = max(now - WINDOW * typical, min(span.start for span in spans))
    if now <= since:
        return 0.0
    return math.fsum(span.within(since, now) for span in spans) / (now - since)


def rough(seconds: float) -> str:
    """A figure no finer than an estimate deserves: ``about 4 min``."""
    if seconds < 10:
        return "a few seconds"
    if seconds < 55:
        return f"about {round(seconds, -1):.0f} s"
    if seconds < 57.5 * 60:
        minutes = seconds / 60
        return f"about {max(1, round(minutes)) if minutes < 10 else round(minutes / 5) * 5} min"
    if seconds < 47 * 3600:
        hours = max(2, round(seconds / 1800)) / 2
        return f"about {hours:g} h" if hours < 5 else f"about {round(hours)} h"
    if seconds >= LONGEST:
        return "more than 30 days"
    return f"about {round(seconds / 86_400)} days"
