"""When a stack that nobody uses stops."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Idleness:
    """Counts from the last sign of use: a request, or a look that found work unfinished."""

    limit: float
    """Seconds; 0 never stops."""
    now: Callable[[], float]
    since: float = 0.0

    def start(self) -> None:
        self.since = self.now()

    @property
    def interval(self) -> float:
        """Seconds between looks."""
        return min(60.0, self.limit / 4)

    def over(self, activity: float, busy: Callable[[], bool]) -> bool:
        if self.limit == 0:
            return False
        self.since = max(self.since, activity)
        if busy():
            self.since = self.now()
        return self.now() - self.since >= self.limit
