"""The audience: workers are told which trials somebody reads along, for they look at these without delay."""

import time
from collections.abc import Callable

from oddish.lately import Lately

FOLLOWED_CHANNEL = "oddish_followed"
"""Notifications carry the id of a trial that somebody follows and that has not ended."""
WORD_SECONDS = 9.0
"""Between two words of one attempt; shorter than two looks at all that is followed are apart."""
MOST_TRIALS = 10_000
"""That are remembered; of more than that workers hear more often."""
NO_ATTEMPT = -1
NOT_BEGUN = 0
"""The attempt of a trial that waits for its first one."""


class Audience:
    """What one server has told the workers lately; one word does for all who read."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told: Lately[str, int] = Lately(seconds=WORD_SECONDS, most=MOST_TRIALS)

    def told(self, trial_id: str) -> int:
        """The attempt that workers know of; a later one is to be told of at once."""
        attempt = self._told.get(trial_id, now=self._clock())
        return NO_ATTEMPT if attempt is None else attempt

    def tell(self, trial_id: str, attempt: int) -> None:
        """The workers were told just now."""
        self._told.note(trial_id, attempt, now=self._clock())
