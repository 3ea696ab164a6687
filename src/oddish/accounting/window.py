"""The time that a report is about, in whole hours and UTC. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

type Bucket = Literal["hour", "day", "week"]

BEGINNING = datetime(1970, 1, 5, tzinfo=UTC)
"""A Monday before everything, with which all hours, days and weeks begin."""
STEPS: Mapping[Bucket, timedelta] = {
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}
HOURLY_DAYS, DAILY_DAYS = 2, 92
"""The longest windows that are drawn by the hour and by the day."""


@dataclass(frozen=True)
class Window:
    """The last ``days`` before ``now``, from the beginning of an hour on; 0 is all time."""

    days: int
    now: datetime

    @property
    def start(self) -> datetime:
        return truncated(self.now - timedelta(days=self.days), STEPS["hour"]) if self.days else BEGINNING

    @property
    def previous_start(self) -> datetime:
        """Of the window before this one, as long; that of all time is empty."""
        return self.start - timedelta(days=self.days)

    @property
    def month_start(self) -> datetime:
        """Of the calendar month."""
        return truncated(self.now, STEPS["day"]).replace(day=1)

    @property
    def bucket(self) -> Bucket:
        """How long one step of a series is."""
        if not self.days:
            return "week"
        if self.days <= HOURLY_DAYS:
            return "hour"
        return "day" if self.days <= DAILY_DAYS else "week"

    @property
    def step(self) -> timedelta:
        return STEPS[self.bucket]

    def buckets(self, found: set[datetime]) -> list[datetime]:
        """The starts of all steps, those between the ``found`` ones and, but for all time, the rest of the window."""
        edges = {*found, truncated(self.start, self.step), truncated(self.now, self.step)} if self.days else found
        return list(_steps(min(edges), max(edges), self.step)) if edges else []


def truncated(time: datetime, step: timedelta) -> datetime:
    """The beginning of the step that ``time`` is in."""
    return time - (time - BEGINNING) % step


def _steps(first: datetime, last: datetime, step: timedelta) -> Iterator[datetime]:
    while first <= last:
        yield first
        first += step
