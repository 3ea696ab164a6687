"""When a job that did not succeed runs again. Pure."""

import random
from typing import Literal

type RetryClass = Literal["backoff", "rate_limit"]

_BASE_SECONDS: dict[RetryClass, float] = {"backoff": 30.0, "rate_limit": 300.0}
MAX_DELAY_SECONDS = 1800.0
JITTER = 0.25
MAX_LOSSES = 5
"""With so many executions lost with their workers, the job itself is the suspect.

Where one of three workers is killed every 20 s, three losses happen to about two of a thousand jobs of 5 s that have
nothing to do with it; five do not happen.
"""


def retry_delay(
    retry_class: RetryClass, attempt: int, *, retry_after: float | None = None, rng: random.Random
) -> float:
    """Seconds before the next execution: exponential from the class's base, capped, plus up to a quarter of jitter.

    ``attempt`` counts from 1. A server's ``retry_after`` is a lower bound, up to the cap.
    """
    delay = min(_BASE_SECONDS[retry_class] * 2.0 ** (attempt - 1), MAX_DELAY_SECONDS)
    if retry_after is not None:
        delay = max(delay, min(retry_after, MAX_DELAY_SECONDS))
    return delay * (1 + rng.uniform(0, JITTER))


def loss_delay(losses: int) -> float:
    """Seconds before a job whose worker died runs again; ``losses`` counts this one, from 1."""
    return min(2.0 ** (losses - 1), 60.0)
