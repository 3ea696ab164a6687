"""The attempts of a cell as marks in a row, one each. Pure."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from oddish.outcome import PASS
from oddish.viewer.summaries import Attempt, Cell

type State = Literal["pass", "fail", "unmeasured", "running", "unlisted"]

STATES: tuple[State, ...] = ("pass", "fail", "unmeasured", "running", "unlisted")
STATUS, RUNNING = "status", "running"
"""The member of an attempt without a reward, and its value, that say that it has not ended."""


@dataclass(frozen=True, slots=True)
class Mark:
    attempt: int
    state: State
    """``unmeasured``: without a reward. ``unlisted``: the file does not tell what came of it."""
    reward: float | None = None
    trace: str | None = None


@dataclass(frozen=True, slots=True)
class Marks:
    shown: tuple[Mark, ...]
    left_out: int
    """Further attempts."""


def marks(cell: Cell, k_max: int, *, most: int) -> Marks:
    """By number, those that are not listed among them, up to ``k_max`` or the highest number there is."""
    last = max(k_max, cell.passed_at or 0, *(attempt.attempt for attempt in cell.attempts[-1:]))
    listed = len({attempt.attempt for attempt in cell.attempts})
    total = len(cell.attempts) + last - listed
    shown = tuple(islice(_marks(cell, last), most))
    return Marks(shown, total - len(shown))


def _marks(cell: Cell, last: int) -> Iterator[Mark]:
    listed: defaultdict[int, list[Attempt]] = defaultdict(list)
    for attempt in cell.attempts:
        listed[attempt.attempt].append(attempt)
    for number in range(1, last + 1):
        for attempt in listed.get(number, ()):
            yield Mark(number, state(attempt), attempt.reward, attempt.trace)
        if number not in listed:
            yield Mark(number, "pass" if number == cell.passed_at else "unlisted")


def state(attempt: Attempt) -> State:
    """What came of an attempt."""
    if attempt.reward is None:
        return "running" if attempt.extra.get(STATUS) == RUNNING else "unmeasured"
    return "pass" if attempt.reward == PASS else "fail"
