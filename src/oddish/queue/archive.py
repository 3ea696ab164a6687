"""The archive: jobs that have ended leave the hot table some minutes later, and are forgotten after their time."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

STAYS_SECONDS = 300.0
"""How long an ended job stays where it ran, for those who look at what has just ended."""
MOVED_AT_A_TIME = 1_000
FORGOTTEN_AT_A_TIME = 5_000

# Moves the jobs that ended longest ago. Several workers share the work; nobody waits. Locks: jobs that have ended.
ARCHIVE = """
WITH old AS MATERIALIZED (
  SELECT id FROM jobs
  WHERE state NOT IN ('held', 'ready', 'scheduled', 'running')
    AND finished_at < clock_timestamp() - make_interval(secs => :stays)
  ORDER BY finished_at LIMIT :most FOR UPDATE SKIP LOCKED
), moved AS (
  DELETE FROM jobs USING old WHERE jobs.id = old.id
  RETURNING jobs.id, org_id, kind, subject_id, pool, key, lane, priority, state, epoch, claim_id, attempt, max_attempts,
    losses, group_id, memory_mb, error, created_at, started_at, finished_at
)
INSERT INTO finished_jobs (id, org_id, kind, subject_id, pool, key, lane, priority, state, epoch, claim_id, attempt,
  max_attempts, losses, group_id, memory_mb, error, created_at, started_at, finished_at)
SELECT * FROM moved
"""

# Forgets finished jobs past their time, the oldest first. Locks: these.
FORGET = """
WITH old AS MATERIALIZED (
  SELECT id FROM finished_jobs WHERE finished_at < clock_timestamp() - make_interval(days => :days)
  ORDER BY finished_at LIMIT :most FOR UPDATE SKIP LOCKED
)
DELETE FROM finished_jobs USING old WHERE finished_jobs.id = old.id
"""


async def archive(connection: AsyncConnection, *, most: int = MOVED_AT_A_TIME) -> int:
    """Move up to ``most`` jobs that ended a while ago to ``finished_jobs``, in the caller's transaction; how many.

    As many as asked for: there may be more.
    """
    return (await connection.execute(text(ARCHIVE), {"stays": STAYS_SECONDS, "most": most})).rowcount


async def forget_finished(connection: AsyncConnection, *, days: int) -> int:
    """Delete finished jobs that ended more than ``days`` ago, a bounded number at a time; how many there were.

    The connection is not in a transaction: each batch is one. Attempts and trials stay.
    """
    forgotten = 0
    while True:
        async with connection.begin():
            parameters = {"days": days, "most": FORGOTTEN_AT_A_TIME}
            count = (await connection.execute(text(FORGET), parameters)).rowcount
        forgotten += count
        if count < FORGOTTEN_AT_A_TIME:
            return forgotten
