"""Moments in the headers of HTTP. Standard library only."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


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
