"""What began and ended within the last hour. Jobs that have ended are in ``jobs`` for some minutes, then moved away."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

FAILURES_SHOWN = 20
MESSAGE_LENGTH = 500

# Of all organisations, as their last executions tell: those that run, wait to be repeated, or have ended. Locks: none.
PACE = text("""
WITH begun AS (
  SELECT kind, started_at, NULL::timestamptz AS finished_at FROM jobs WHERE state = 'running'
  UNION ALL
  SELECT kind, started_at, NULL FROM jobs WHERE state = 'scheduled'
  UNION ALL
  SELECT kind, started_at, finished_at FROM jobs
  WHERE state NOT IN ('held', 'ready', 'scheduled', 'running') AND finished_at >= now() - interval '60 minutes'
  UNION ALL
  SELECT kind, started_at, finished_at FROM finished_jobs WHERE finished_at >= now() - interval '60 minutes'
)
SELECT kind,
  count(*) FILTER (WHERE started_at >= now() - interval '5 minutes') AS started_5m,
  count(*) FILTER (WHERE started_at >= now() - interval '15 minutes') AS started_15m,
  count(*) FILTER (WHERE started_at >= now() - interval '60 minutes') AS started_60m,
  count(*) FILTER (WHERE finished_at >= now() - interval '5 minutes') AS finished_5m,
  count(*) FILTER (WHERE finished_at >= now() - interval '15 minutes') AS finished_15m,
  count(finished_at) AS finished_60m
FROM begun WHERE started_at IS NOT NULL GROUP BY kind ORDER BY kind
""")

# Of one organisation: how its jobs have ended, how long their last executions took, and the newest failures, those that
# will be repeated included. Locks: none.
ENDED = text("""
WITH ended AS MATERIALIZED (
  SELECT id, kind, subject_id, key, state, epoch, error, started_at, finished_at FROM jobs
  WHERE org_id = :org_id AND finished_at >= now() - interval '60 minutes'
    AND state NOT IN ('held', 'ready', 'scheduled', 'running')
  UNION ALL
  SELECT id, kind, subject_id, key, state, epoch, error, started_at, finished_at FROM finished_jobs
  WHERE org_id = :org_id AND finished_at >= now() - interval '60 minutes'
), states AS (
  SELECT kind, jsonb_object_agg(state, jobs) AS jobs FROM (
    SELECT kind, state, count(*) AS jobs FROM ended GROUP BY kind, state
  ) counted GROUP BY kind
), durations AS (
  SELECT kind, key AS queue_key, count(*) AS sample_count,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM finished_at - started_at)::float8) AS p50,
    percentile_cont(0.95) WITHIN GROUP (ORDER BY extract(epoch FROM finished_at - started_at)::float8) AS p95
  FROM ended WHERE started_at IS NOT NULL AND state <> 'cancelled' GROUP BY kind, key
), failed AS (
  (
    SELECT id, kind, subject_id, key, epoch, error, finished_at FROM ended WHERE state = 'failed'
    ORDER BY finished_at DESC, id LIMIT :shown
  ) UNION ALL (
    SELECT j.id, j.kind, j.subject_id, j.key, j.epoch, j.error, a.finished_at
    FROM jobs j JOIN attempts a ON a.trial_id = j.subject_id AND a.epoch = j.epoch
    WHERE j.org_id = :org_id AND j.kind = 'trial' AND j.state = 'scheduled' AND j.error IS NOT NULL
      AND a.finished_at >= now() - interval '60 minutes'
  )
  ORDER BY finished_at DESC, id LIMIT :shown
), failures AS (
  SELECT failed.id::text, kind, key AS queue_key, subject_id, failed.epoch, failed.finished_at,
    left(coalesce(error, ''), :message_length) AS error_message,
    CASE WHEN a.reasons ? 'worker_lost' THEN 'its worker stopped answering' END AS last_heartbeat_error
  FROM failed LEFT JOIN attempts a ON kind = 'trial' AND a.trial_id = subject_id AND a.epoch = failed.epoch
)
SELECT (SELECT coalesce(jsonb_object_agg(kind, jobs), '{}') FROM states) AS states,
  (SELECT coalesce(jsonb_agg(durations ORDER BY kind, queue_key), '[]') FROM durations) AS durations,
  (SELECT coalesce(jsonb_agg(failures ORDER BY finished_at DESC, id), '[]') FROM failures) AS failures
""")


@dataclass(frozen=True)
class Pace:
    """Jobs of one kind whose last execution began, or that ended, within so many minutes."""

    kind: str
    started_5m: int
    started_15m: int
    started_60m: int
    finished_5m: int
    finished_15m: int
    finished_60m: int


@dataclass(frozen=True)
class Ended:
    """What came of an organisation's jobs within the last hour."""

    states: Mapping[str, Mapping[str, int]]
    """How many have ended, by kind and state."""
    durations: Sequence[Mapping[str, Any]]
    """Of last executions that were not cancelled: kind, queue_key, sample_count, p50, p95 in seconds."""
    failures: Sequence[Mapping[str, Any]]
    """Newest first: id, kind, queue_key, subject_id, epoch, finished_at, error_message, and last_heartbeat_error where
    it was the worker that failed."""


async def read_pace(connection: AsyncConnection) -> Sequence[Pace]:
    return [Pace(**row._mapping) for row in await connection.execute(PACE)]


async def read_ended(connection: AsyncConnection, org_id: str) -> Ended:
    parameters = {"org_id": org_id, "shown": FAILURES_SHOWN, "message_length": MESSAGE_LENGTH}
    row = (await connection.execute(ENDED, parameters)).one()
    return Ended(**row._mapping)
