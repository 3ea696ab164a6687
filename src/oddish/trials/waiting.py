"""Why trials have not started: their place in the queue and what holds them back."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

COUNTED = 5_000
"""Lines are counted so far and no further."""

# The waiting jobs of some trials, their place in their line, and what is known of that line, read once a line.
WAITING = text("""
WITH mine AS MATERIALIZED (
  SELECT id, subject_id, pool, key, lane, state, run_at FROM jobs
  WHERE kind = 'trial' AND subject_id = ANY (:trial_ids) AND state IN ('held', 'ready', 'scheduled')
), lines AS MATERIALIZED (
  SELECT line.pool, line.key, line.lane, k.running, k.paused,
    coalesce(k.override_limit, k.deploy_limit) AS concurrency_limit,
    ARRAY (
      SELECT id FROM jobs
      WHERE jobs.pool = line.pool AND jobs.key = line.key AND jobs.lane = line.lane AND state = 'ready'
      ORDER BY priority DESC, ready_at, id LIMIT :counted
    ) AS job_ids,
    (
      SELECT count(*) FROM (
        SELECT FROM jobs WHERE jobs.pool = line.pool AND jobs.key = line.key AND state = 'ready' LIMIT :counted
      ) counted
    ) AS queued,
    EXISTS (
      SELECT FROM workers WHERE line.pool = ANY (workers.pools) AND lease_until >= now() AND stopped_at IS NULL
    ) AS served,
    EXISTS (
      SELECT FROM workers WHERE line.pool = ANY (workers.pools) AND lease_until >= now() AND stopped_at IS NULL
        AND concurrency > (SELECT count(*) FROM jobs WHERE jobs.worker_id = workers.id AND jobs.state = 'running')
    ) AS free,
    (
      SELECT min(c.name) FROM queue_lanes l JOIN queue_caps c ON c.name = ANY (l.caps)
      WHERE l.key = line.key AND l.lane = line.lane AND c.running >= coalesce(c.override_limit, c.deploy_limit)
    ) AS full_cap
  FROM (SELECT DISTINCT pool, key, lane FROM mine) line JOIN queue_keys k USING (key)
)
SELECT mine.subject_id, mine.key, mine.pool, mine.state, mine.run_at, array_position(lines.job_ids, mine.id) AS place,
  lines.queued, lines.served, lines.free, lines.full_cap, lines.running, lines.paused, lines.concurrency_limit
FROM mine JOIN lines USING (pool, key, lane)
""")


@dataclass(frozen=True)
class QueueInfo:
    position: int | None
    """From 1, in the caller's own line for the model."""
    ahead: int | None
    queued_count: int
    """Waiting for the same model, of all users."""
    running_count: int
    concurrency_limit: int
    reason: str | None
    """What holds the trial back, unless it is only its place in the line."""


async def queue_info(connection: AsyncConnection, trial_ids: Collection[str]) -> Mapping[str, QueueInfo]:
    """By trial id, for those that wait."""
    if not trial_ids:
        return {}
    rows = await connection.execute(WAITING, {"trial_ids": list(trial_ids), "counted": COUNTED})
    return {
        row.subject_id: QueueInfo(
            position=row.place,
            ahead=None if row.place is None else row.place - 1,
            queued_count=row.queued,
            running_count=row.running,
            concurrency_limit=row.concurrency_limit,
            reason=reason(
                state=row.state,
                run_at=row.run_at,
                environment=row.pool.partition("@")[0],
                served=row.served,
                key=row.key,
                paused=row.paused,
                full=row.running >= row.concurrency_limit,
                limit=row.concurrency_limit,
                full_cap=row.full_cap,
                free=row.free,
            ),
        )
        for row in rows
    }


def reason(
    *,
    state: str,
    run_at: datetime | None,
    environment: str,
    served: bool,
    key: str,
    paused: bool,
    full: bool,
    limit: int,
    full_cap: str | None,
    free: bool,
) -> str | None:
    """The first thing that would have to change; None when it is only the trial's place in the line."""
    if not served:
        return f"no live worker offers environment {environment}"
    if paused:
        return f"the queue of {key} is paused"
    if state == "held":
        return "waits for other trials of its submission"
    if state == "scheduled" and run_at is not None:
        return f"the next attempt starts at {run_at:%H:%M:%S} UTC"
    if full:
        return f"{limit} trials of {key} may run at once, and do"
    if full_cap is not None:
        kind, _, owner = full_cap.partition(":")
        shared = f"provider {owner}" if kind == "provider" else "this organisation"
        return f"as many trials of {shared} run as may run at once"
    return None if free else "all workers are busy"
