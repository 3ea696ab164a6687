"""When a call is tried again, and how long to wait before that."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

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


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds asked for by ``Retry-After``, given as a number or as a date."""
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    moment = http_date(value)
    return None if moment is None else max(0.0, (moment - datetime.now(UTC)).total_seconds())


def http_date(value: str | None) -> datetime | None:
    """The moment that a header names; None when it names none that there is."""
    try:
        moment = parsedate_to_datetime(value or "")
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
