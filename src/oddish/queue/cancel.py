"""Cancelling: an intent in the database that the owning worker sees."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

CANCEL_CHANNEL = "oddish_cancel"
CANCELLED_BY_USER = "Cancelled by user"

# Keeps unfinished jobs as they are for the rest of the transaction. Locks: jobs (by id).
HOLD = """
SELECT id FROM jobs WHERE kind = :kind AND subject_id = ANY (CAST(:subject_ids AS text[]))
  AND state IN ('held', 'ready', 'scheduled', 'running') ORDER BY id FOR NO KEY UPDATE
"""

# Ends what does not run and marks what does. Locks: jobs (by id), trials (by trigger).
CANCEL = """
WITH wanted AS (
  SELECT id FROM jobs WHERE kind = :kind AND subject_id = ANY (CAST(:subject_ids AS text[]))
    AND state IN ('held', 'ready', 'scheduled', 'running') ORDER BY id FOR NO KEY UPDATE
)
UPDATE jobs SET cancel_requested = true,
  state = CASE WHEN state = 'running' THEN state ELSE 'cancelled' END,
  run_at = NULL, error = :error,
  finished_at = CASE WHEN state = 'running' THEN NULL ELSE clock_timestamp() END
FROM wanted WHERE jobs.id = wanted.id
RETURNING jobs.state, jobs.worker_id
"""

NOTIFY = "SELECT pg_notify(:channel, :worker_id)"


@dataclass(frozen=True)
class CancelSummary:
    cancelled: int
    """Jobs that had not started and are over."""
    stopping: int
    """Jobs that run; their workers end them within about a second."""


async def hold(connection: AsyncConnection, *, kind: str, subject_ids: Sequence[str]) -> None:
    """Keep the unfinished jobs of ``subject_ids`` as they are, for what has to happen before they are cancelled."""
    await connection.execute(text(HOLD), {"kind": kind, "subject_ids": list(subject_ids)})


async def cancel(
    connection: AsyncConnection, *, kind: str, subject_ids: Sequence[str], reason: str = CANCELLED_BY_USER
) -> CancelSummary:
    """Cancel the unfinished jobs of ``subject_ids``; those that are over stay as they are. Final: never retried.

    ``reason`` is what their subjects show as their error.
    """
    parameters = {"kind": kind, "subject_ids": list(subject_ids), "error": reason}
    rows = (await connection.execute(text(CANCEL), parameters)).all()
    workers = sorted({row.worker_id for row in rows if row.state == "running"})
    for worker_id in workers:
        await connection.execute(text(NOTIFY), {"channel": CANCEL_CHANNEL, "worker_id": worker_id})
    stopping = sum(row.state == "running" for row in rows)
    return CancelSummary(cancelled=len(rows) - stopping, stopping=stopping)
