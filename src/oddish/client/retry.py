"""When a call is tried again, and how long to wait before that."""

import random
from dataclasses import dataclass

LASTING = frozenset({501, 505, 507, 508, 511})
"""Failures of a server that are the same in a moment: a full store among them, which repeated uploads do not empty."""


@dataclass(frozen=True)
class RetryPolicy:
    """Capped exponential backoff with full jitter; a ``Retry-After`` of the server is the least that is waited."""

    attempts: int = 5
    reconnects: int = 9
    """Attempts to connect to a server that has answered before: one that restarts is back within half a minute."""
    base: float = 0.25
    cap: float = 8.0
    retry_after_cap: float = 60.0

    def delay(self, attempt: int, retry_after: float | None = None) -> float:
        """Seconds to wait after the failure of ``attempt``, the first being 1."""
        ceiling = min(self.cap, self.base * 2 ** (attempt - 1))
        jittered = random.uniform(ceiling / 2, ceiling)  # noqa: S311
        if retry_after is None:
            return jittered
        return min(self.retry_after_cap, retry_after + jittered / 2)

    @staticmethod
    def worth_repeating(status: int) -> bool:
        return status in (408, 429) or (status >= 500 and status not in LASTING)
