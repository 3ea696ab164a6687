"""Whether somebody works on the queue. Each worker claims and keeps house for itself, and no process schedules others.

Claiming is judged by the last sign of life of any worker. Housekeeping leaves no trace of its own: when everything that
was due has been done it is as recent as that sign, else it ended when the first of what is left became due.
"""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

# Locks: none.
VITALS = text("""
SELECT now() AS at,
  (SELECT max(coalesce(stopped_at, lease_until - make_interval(secs => :lease_seconds))) FROM workers) AS beat_at,
  (SELECT count(*) FROM workers WHERE lease_until >= now() AND stopped_at IS NULL) AS alive,
  (SELECT nullif(max(last_claim), 'epoch') FROM queue_lanes) AS claimed_at,
  (SELECT min(run_at) FROM jobs WHERE state = 'scheduled' AND run_at <= now()) AS due_at,
  (SELECT count(*) FROM jobs WHERE state = 'scheduled' AND run_at <= now()) AS overdue,
  (SELECT min(lease_until) FROM workers w WHERE lease_until < now() AND EXISTS (
    SELECT FROM jobs j WHERE j.worker_id = w.id AND j.state = 'running'
  )) AS lost_at,
  (SELECT count(*) FROM workers w WHERE lease_until < now() AND EXISTS (
    SELECT FROM jobs j WHERE j.worker_id = w.id AND j.state = 'running'
  )) AS dead
""")


@dataclass(frozen=True)
class Vitals:
    """``at`` is now, by the clock of the database, as everything here is."""

    at: datetime
    beat_at: datetime | None
    """The last sign of life of any worker; None when there has never been one."""
    alive: int
    claimed_at: datetime | None
    due_at: datetime | None
    """When the first of the jobs should have become ready that have waited their time and are not."""
    overdue: int
    lost_at: datetime | None
    """When the first lease ended of the workers whose jobs nobody has taken back."""
    dead: int

    @property
    def claiming_at(self) -> datetime | None:
        return max(filter(None, (self.beat_at, self.claimed_at)), default=None)

    @property
    def housekeeping_at(self) -> datetime | None:
        return None if self.beat_at is None else min(filter(None, (self.beat_at, self.due_at, self.lost_at)))


async def read_vitals(connection: AsyncConnection, *, lease_seconds: float) -> Vitals:
    row = (await connection.execute(VITALS, {"lease_seconds": lease_seconds})).one()
    return Vitals(**row._mapping)
