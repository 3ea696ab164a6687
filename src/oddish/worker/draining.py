"""When a worker that was told to end does so: once nothing runs, or when its patience is over. Pure."""

import math


class Draining:
    """Times are seconds of one monotonic clock."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._ends: float | None = None

    @property
    def begun(self) -> bool:
        """The worker claims nothing more."""
        return self._ends is not None

    def begin(self, *, now: float) -> None:
        """Told to end. Told again, it does not wait any longer for what runs."""
        self._ends = now + self._patience if self._ends is None else now

    def remaining(self, *, now: float) -> float:
        """For how long what runs may still run; infinite unless begun."""
        return math.inf if self._ends is None else max(0.0, self._ends - now)

    def due(self, *, now: float, running: int) -> bool:
        return self.begun and (running == 0 or self.remaining(now=now) == 0)
