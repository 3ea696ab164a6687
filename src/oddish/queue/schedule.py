"""Promotion: delayed jobs become ready when they are due, held ones when their group has room."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

# Makes due jobs ready; returns the seconds until the next one is due, NULL when there is none.
# Locks: jobs (by id), trials (by trigger).
PROMOTE = """
WITH due AS (
  SELECT id FROM jobs WHERE state = 'scheduled' AND run_at <= clock_timestamp() ORDER BY id LIMIT 500
  FOR NO KEY UPDATE SKIP LOCKED
), promoted AS (
  UPDATE jobs SET state = 'ready', run_at = NULL, ready_at = clock_timestamp() FROM due WHERE jobs.id = due.id
)
SELECT extract(epoch FROM min(run_at) - clock_timestamp()) FROM jobs
WHERE state = 'scheduled' AND id NOT IN (SELECT id FROM due)
"""

# Finds room in groups that a rolled back or concurrent transaction left unused.
# Locks: job_groups (by id), held jobs that nobody else has.
RELEASE_GROUPS = """
SELECT coalesce(sum(release_group(id)), 0)
FROM (SELECT DISTINCT group_id AS id FROM jobs WHERE state = 'held' ORDER BY 1) waiting
"""


async def promote(connection: AsyncConnection) -> float | None:
    """Make the jobs that are due ready; seconds until another one is due, None when none waits for its time."""
    seconds = await connection.scalar(text(PROMOTE))
    return None if seconds is None else max(float(seconds), 0.0)


async def release_groups(connection: AsyncConnection) -> int:
    """Release held jobs whose groups have room; normally there are none, for every end of a job does this at once."""
    return int(await connection.scalar(text(RELEASE_GROUPS)) or 0)
