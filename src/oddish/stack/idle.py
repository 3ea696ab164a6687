"""When a stack that nobody uses stops."""

from collections.abc import Callable
from dataclasses import dataclass

AWAKE = 30.0
"""Seconds that a look may be late on a busy machine; what goes beyond is time that the machine slept."""


@dataclass
class Idleness:
    """Counts from the last sign of use: a request, or a look that found work unfinished. Sleep does not count."""

    limit: float
    """Seconds; 0 never stops."""
    now: Callable[[], float]
    since: float = 0.0
    looked: float = 0.0

    def start(self) -> None:
        self.since = self.looked = self.now()

    @property
    def interval(self) -> float:
        """Seconds between looks."""
        return min(60.0, self.limit / 4)

    def over(self, activity: float, busy: Callable[[], bool]) -> bool:
        if self.limit == 0:
            return False
        now = self.now()
        self.since += max(0.0, now - self.looked - self.interval - AWAKE)
        self.since = min(now, max(self.since, activity))
        if busy():
            now = self.since = self.now()
        self.looked = now
        return now - self.since >= self.limit
