"""Whose turn it is: attempts that somebody follows are looked at often, most others now and then. Pure."""

import math
from collections.abc import Hashable
from dataclasses import dataclass

from oddish.lately import Lately

FOLLOWED_SECONDS = 30.0
"""How long a trial counts as followed after a word of it; one of them may be lost, or two."""
MOST_TRIALS = 10_000
"""Of all workers, that are remembered as followed: their attempts may begin here."""
BRISKER = 2
"""So many times as often is looked again where something was new: agents that talk go on talking."""
LEAST_REST = 5
"""One part in so many of an interval is left to others, however long a turn takes."""


@dataclass
class Turn:
    """The last one of a subject; it begins to count when it joins."""

    trial_id: str
    closely: bool
    """It is looked at as often as if somebody followed it."""
    began: float
    ended: float
    news: bool = False
    behind: bool = False
    """It left something unread."""


class Pace[Subject: Hashable]:
    """When each subject is looked at. Times are seconds of one monotonic clock.

    Turns fall on multiples of their interval, so that subjects share them and what they cost.
    """

    def __init__(self, *, followed: float, unfollowed: float) -> None:
        """Seconds between two turns."""
        self._followed = followed
        self._unfollowed = unfollowed
        self._turns: dict[Subject, Turn] = {}
        self._words: Lately[str, bool] = Lately(seconds=FOLLOWED_SECONDS, most=MOST_TRIALS)

    def __len__(self) -> int:
        return len(self._turns)

    def __contains__(self, subject: Subject) -> bool:
        return subject in self._turns

    def join(self, subject: Subject, trial_id: str, *, now: float, closely: bool = False) -> None:
        self._turns[subject] = Turn(trial_id, closely, began=now, ended=-math.inf)

    def leave(self, subject: Subject) -> None:
        del self._turns[subject]

    def hear(self, trial_id: str, *, now: float) -> bool:
        """Somebody follows that trial; whether a subject is due sooner by that."""
        known = self._words.get(trial_id, now=now)
        self._words.note(trial_id, True, now=now)
        return not known and any(turn.trial_id == trial_id for turn in self._turns.values())

    def hurry(self, subject: Subject) -> None:
        """It cannot wait as long as those that nobody follows."""
        self._turns[subject].behind = True

    def looked(self, subject: Subject, *, began: float, ended: float, news: bool, behind: bool) -> None:
        """It had a turn."""
        turn = self._turns[subject]
        turn.began, turn.ended, turn.news, turn.behind = began, ended, news, behind

    def due(self, *, now: float) -> list[Subject]:
        return [subject for subject, turn in self._turns.items() if self._next(turn, now) <= now]

    def rest(self, *, now: float) -> float:
        """Seconds until the next turn of any; there must be one."""
        return max(0.0, min(self._next(turn, now) for turn in self._turns.values()) - now)

    def _next(self, turn: Turn, now: float) -> float:
        interval = self._unfollowed
        if turn.closely or turn.behind or self._words.get(turn.trial_id, now=now):
            interval = self._followed / BRISKER if turn.news else self._followed
        return max(interval * (turn.began // interval + 1), turn.ended + interval / LEAST_REST)
