"""When a service that ended is started again."""

from dataclasses import dataclass

STEADY = 30.0
_LONGEST = 30.0
_TROUBLED_AFTER = 3


@dataclass
class Restart:
    """At once after a long life; ever later after short ones."""

    failures: int = 0
    ended: bool = True
    started: float = 0.0
    due: float = 0.0

    def note_start(self, now: float) -> None:
        self.started = now
        self.ended = False

    def note_end(self, now: float) -> None:
        self.failures = 1 if now - self.started >= STEADY else self.failures + 1
        self.ended = True
        self.due = now + self.delay

    def note_alive(self, now: float) -> bool:
        """Forget failures after a while; whether that ended a trouble."""
        if now - self.started < STEADY:
            return False
        was_troubled, self.failures = self.troubled, 0
        return was_troubled

    @property
    def delay(self) -> float:
        return 0.0 if self.failures <= 1 else min(_LONGEST, 0.25 * 2.0 ** (self.failures - 1))

    @property
    def troubled(self) -> bool:
        return self.failures >= _TROUBLED_AFTER
