"""Promotion: delayed jobs become ready when they are due."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

# Makes due jobs ready. Locks: jobs (by id), trials (by trigger).
PROMOTE = """
WITH due AS (
  SELECT id FROM jobs WHERE state = 'scheduled' AND run_at <= clock_timestamp() ORDER BY id LIMIT 500
  FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE jobs SET state = 'ready', run_at = NULL, ready_at = clock_timestamp() FROM due WHERE jobs.id = due.id
"""

# Seconds until the next delayed job is due, NULL when there is none. Locks: none.
NEXT_DUE = "SELECT extract(epoch FROM min(run_at) - clock_timestamp()) FROM jobs WHERE state = 'scheduled'"


async def promote(connection: AsyncConnection) -> int:
    """Make the jobs that are due ready; how many there were."""
    return (await connection.execute(text(PROMOTE))).rowcount


async def next_due(connection: AsyncConnection) -> float | None:
    """Seconds until a delayed job is due; not positive when one is overdue."""
    seconds = await connection.scalar(text(NEXT_DUE))
    return None if seconds is None else float(seconds)
