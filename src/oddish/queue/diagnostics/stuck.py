"""Running jobs that nobody seems to run, and those whose trial is not shown as running.

A worker's lease is its only sign of life, so its last one is the end of the lease less its length, which is taken from
this process's settings.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

SHOWN = 20

_RUNNING = """
WITH running AS (
  SELECT j.id, j.org_id, j.kind, j.subject_id, j.key, j.worker_id, j.started_at,
    row_number() OVER (PARTITION BY j.key ORDER BY j.started_at, j.id) - 1 AS slot,
    w.stopped_at IS NOT NULL OR w.lease_until < now() OR w.id IS NULL AS lease_ended,
    coalesce(w.stopped_at, w.lease_until - make_interval(secs => :lease_seconds)) AS heartbeat_at
  FROM jobs j LEFT JOIN workers w ON w.id = j.worker_id WHERE j.state = 'running'
), judged AS (
  SELECT running.*, t.task_id, t.harbor_stage, kind = 'trial' AND (t.status <> 'running' OR t.deleted_at IS NOT NULL)
    AS hidden, coalesce(heartbeat_at < now() - make_interval(mins => :stale_after_minutes), true) AS silent
  FROM running LEFT JOIN trials t ON running.kind = 'trial' AND t.id = running.subject_id
)
"""

# Of all organisations. Locks: none.
COUNTS = text(f"""
{_RUNNING}, unserved AS MATERIALIZED (
  SELECT pool FROM unnest(CAST(:pools AS text[])) AS p (pool) WHERE NOT EXISTS (
    SELECT FROM workers w WHERE p.pool = ANY (w.pools) AND w.lease_until >= now() AND w.stopped_at IS NULL
  )
)
SELECT count(*) FILTER (WHERE silent) AS silent, count(*) FILTER (WHERE lease_ended) AS lease_ended,
  count(DISTINCT task_id) FILTER (WHERE hidden) AS hidden_tasks,
  (
    SELECT count(*) FROM unserved JOIN jobs j ON j.pool = unserved.pool AND j.state = 'ready' AND j.epoch > 0
  ) + (
    SELECT count(*) FROM unserved JOIN jobs j ON j.pool = unserved.pool AND j.state = 'scheduled' AND j.epoch > 0
  ) AS retrying_unserved
FROM judged
""")  # noqa: S608 - of constants

# Of one organisation, the longest silent first. Locks: none.
SAMPLES = text(f"""
{_RUNNING}(
  SELECT id, kind, subject_id, task_id, key, harbor_stage, worker_id, slot, started_at, heartbeat_at, false AS hidden
  FROM judged WHERE org_id = :org_id AND (silent OR lease_ended) ORDER BY heartbeat_at NULLS FIRST, id LIMIT :shown
) UNION ALL (
  SELECT id, kind, subject_id, task_id, key, harbor_stage, worker_id, slot, started_at, heartbeat_at, true
  FROM judged WHERE org_id = :org_id AND hidden ORDER BY id LIMIT :shown
)
""")  # noqa: S608 - of constants


@dataclass(frozen=True)
class Counts:
    """Of all organisations."""

    silent: int
    """Running jobs whose workers have given no sign of life for longer than was asked for."""
    lease_ended: int
    """Running jobs whose workers' leases have ended: others will run them again."""
    hidden_tasks: int
    """Tasks of which a job runs while its trial has ended, or was deleted."""
    retrying_unserved: int
    """Jobs that will run again, in pools that no living worker offers."""


@dataclass(frozen=True)
class Sample:
    """A running job of the caller's organisation."""

    id: int
    kind: str
    subject_id: str
    task_id: str | None
    key: str
    harbor_stage: str | None
    worker_id: str
    slot: int
    started_at: datetime
    heartbeat_at: datetime | None
    """None when nobody knows the worker any more."""
    hidden: bool
    """It is here because its trial is not shown as running."""


async def read_counts(
    connection: AsyncConnection, pools: Sequence[str], *, stale_after_minutes: int, lease_seconds: float
) -> Counts:
    """``pools`` are those in which something waits."""
    parameters = {"pools": list(pools), "stale_after_minutes": stale_after_minutes, "lease_seconds": lease_seconds}
    row = (await connection.execute(COUNTS, parameters)).one()
    return Counts(**row._mapping)


async def read_samples(
    connection: AsyncConnection, org_id: str, *, stale_after_minutes: int, lease_seconds: float
) -> Sequence[Sample]:
    """A few without a living worker, then a few whose trial is not shown as running."""
    parameters = {
        "org_id": org_id,
        "stale_after_minutes": stale_after_minutes,
        "lease_seconds": lease_seconds,
        "shown": SHOWN,
    }
    return [Sample(**row._mapping) for row in await connection.execute(SAMPLES, parameters)]
