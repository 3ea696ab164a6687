"""How many calls are under way at once: a little more while they go well, half as many when they do not.

Nothing here sleeps or looks at a clock: a round is as many calls as there may be at once.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turn:
    """One call that is under way. What it came to is said once; nothing said changes nothing."""

    def __init__(self, pace: "Pace", since: int) -> None:
        self._pace = pace
        self._since = since

    def went_well(self) -> None:
        self._pace._more()

    def was_too_much(self) -> None:
        """The other side was overrun, or did not answer. Calls that were under way together count as one."""
        self._pace._fewer(self._since)


class Pace:
    """A limit between ``least`` and ``most`` that finds itself. Safe to share between threads."""

    def __init__(self, least: int, most: int) -> None:
        self._least, self._most = least, most
        self._ceiling = most
        self._limit = float(least)
        self._fixed = False
        self._under_way = 0
        self._lowered = 0
        self._room = threading.Condition()

    @property
    def limit(self) -> int:
        """Calls that may be under way now."""
        return int(self._limit)

    def fix(self, limit: int) -> None:
        """Use ``limit``, whatever happens."""
        with self._room:
            self._fixed, self._limit = True, float(limit)
            self._room.notify_all()

    def cap(self, ceiling: int) -> None:
        """What the other side likes at most; the least is kept."""
        with self._room:
            self._ceiling = max(self._least, min(self._most, ceiling))
            if not self._fixed:
                self._limit = min(self._limit, self._ceiling)

    @contextmanager
    def turn(self) -> Iterator[Turn]:
        """Waits until there is room."""
        with self._room:
            self._room.wait_for(lambda: self._under_way < self.limit)
            self._under_way += 1
            turn = Turn(self, self._lowered)
        try:
            yield turn
        finally:
            with self._room:
                self._under_way -= 1
                self._room.notify_all()

    def _more(self) -> None:
        with self._room:
            if not self._fixed:
                self._limit = min(self._ceiling, self._limit + 1 / self._limit)
                self._room.notify_all()

    def _fewer(self, since: int) -> None:
        with self._room:
            if not self._fixed and since == self._lowered:
                self._limit = max(self._least, self._limit / 2)
                self._lowered += 1


def for_calls() -> Pace:
    return Pace(4, 16)


def for_storage() -> Pace:
    return Pace(1, 6)
