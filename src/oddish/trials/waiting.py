"""Why trials have not started: their place in the queue and what holds them back."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.queue.claim import LOW_PRIORITY_PATIENCE_SECONDS
from oddish.trials.holdups import Group, Line, Pool, holdup

COUNTED = 5_000
"""Lines are counted so far and no further."""
NAMED = 3
"""Trials that others wait for, by their ids."""

# The waiting jobs of some trials, and what is known of their lines, pools and groups, each of which is read once. The
# order of a line is that of claims: a job of low priority lets those of high priority go first for a while.
WAITING = text("""
WITH mine AS MATERIALIZED (
  SELECT id, subject_id, pool, key, lane, state, run_at, memory_mb, group_id FROM jobs
  WHERE kind = 'trial' AND subject_id = ANY (:trial_ids) AND state IN ('held', 'ready', 'scheduled')
), lines AS MATERIALIZED (
  SELECT line.pool, line.key, line.lane, k.running, k.paused,
    coalesce(k.override_limit, k.deploy_limit) AS concurrency_limit,
    ARRAY (
      SELECT near.id FROM (VALUES (0::smallint), (1::smallint)) AS level (priority) CROSS JOIN LATERAL (
        SELECT j.id, j.ready_at, j.priority FROM jobs j
        WHERE j.pool = line.pool AND j.key = line.key AND j.lane = line.lane AND j.priority = level.priority
          AND j.state = 'ready'
        ORDER BY j.ready_at, j.id LIMIT :counted
      ) near
      ORDER BY near.ready_at + make_interval(secs => CASE near.priority WHEN 0 THEN :patience ELSE 0 END), near.id
      LIMIT :counted
    ) AS job_ids,
    (
      SELECT count(*) FROM (
        SELECT FROM jobs WHERE jobs.pool = line.pool AND jobs.key = line.key AND state = 'ready' LIMIT :counted
      ) counted
    ) AS queued,
    cap.name AS cap, cap.cap_limit
  FROM (SELECT DISTINCT pool, key, lane FROM mine) line JOIN queue_keys k USING (key) LEFT JOIN LATERAL (
    SELECT c.name, coalesce(c.override_limit, c.deploy_limit) AS cap_limit
    FROM queue_lanes l JOIN queue_caps c ON c.name = ANY (l.caps)
    WHERE l.key = line.key AND l.lane = line.lane AND c.running >= coalesce(c.override_limit, c.deploy_limit)
    ORDER BY c.name LIMIT 1
  ) cap ON true
), served AS MATERIALIZED (
  SELECT p.pool, pub.reason AS unable, count(w.id) FILTER (WHERE alive) AS workers,
    max(w.memory_mb - w.reserved_mb) FILTER (WHERE vacant AND w.declines IS NULL) AS free_mb,
    min(w.declines) FILTER (WHERE vacant) AS declines,
    coalesce(max(coalesce(w.stopped_at, w.lease_until)), pub.published_at) AS seen_at
  FROM (SELECT DISTINCT pool FROM mine) p LEFT JOIN publications pub USING (pool) LEFT JOIN (
    SELECT w.*, life.alive, life.alive AND used.jobs < w.concurrency AS vacant, used.reserved_mb
    FROM workers w CROSS JOIN LATERAL (SELECT w.lease_until >= now() AND w.stopped_at IS NULL AS alive) life
    CROSS JOIN LATERAL (
      SELECT count(*) AS jobs, coalesce(sum(j.memory_mb), 0) AS reserved_mb FROM jobs j
      WHERE j.worker_id = w.id AND j.state = 'running'
    ) used
  ) w ON p.pool = ANY (w.pools)
  GROUP BY p.pool, pub.pool
), groups AS MATERIALIZED (
  SELECT g.id, g.max_running, (
      SELECT count(*) FROM jobs j WHERE j.group_id = g.id AND j.state IN ('ready', 'scheduled', 'running')
    ) AS released, (
      SELECT count(*) FROM (
        SELECT 1 FROM jobs j WHERE j.group_id = g.after AND j.state IN ('held', 'ready', 'scheduled', 'running')
        UNION ALL SELECT 1 FROM baselines(g.gate_version_id, g.gate_experiment_id) b
        WHERE b.status IN ('queued', 'running', 'retrying')
        LIMIT :counted
      ) counted
    ) AS before,
    ARRAY (
      (
        SELECT j.subject_id FROM jobs j
        WHERE j.group_id = g.after AND j.kind = 'trial' AND j.state IN ('held', 'ready', 'scheduled', 'running')
        ORDER BY j.id LIMIT :named
      ) UNION ALL (
        SELECT b.id FROM baselines(g.gate_version_id, g.gate_experiment_id) b
        WHERE b.status IN ('queued', 'running', 'retrying') ORDER BY b.trial_index LIMIT :named
      )
      LIMIT :named
    ) AS before_ids, g.gate_version_id IS NOT NULL AS gated
  FROM job_groups g WHERE g.id IN (SELECT group_id FROM mine WHERE state = 'held')
)
SELECT mine.subject_id, mine.key, mine.pool, mine.state, mine.run_at, mine.memory_mb,
  array_position(lines.job_ids, mine.id) AS place, lines.queued, lines.running, lines.paused, lines.concurrency_limit,
  lines.cap, lines.cap_limit, served.unable, served.workers, served.free_mb, served.seen_at, served.declines,
  groups.max_running, groups.released, groups.before, groups.before_ids, groups.gated
FROM mine JOIN lines USING (pool, key, lane) JOIN served USING (pool) LEFT JOIN groups ON groups.id = mine.group_id
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
    parameters = {
        "trial_ids": list(trial_ids),
        "counted": COUNTED,
        "named": NAMED,
        "patience": LOW_PRIORITY_PATIENCE_SECONDS,
    }
    return {row.subject_id: _info(row) for row in await connection.execute(WAITING, parameters)}


def _info(row: Row[Any]) -> QueueInfo:
    return QueueInfo(
        position=row.place,
        ahead=None if row.place is None else row.place - 1,
        queued_count=row.queued,
        running_count=row.running,
        concurrency_limit=row.concurrency_limit,
        reason=holdup(
            state=row.state,
            run_at=row.run_at,
            memory_mb=row.memory_mb,
            pool=Pool(row.pool, row.workers, row.free_mb, row.seen_at, row.unable, row.declines),
            line=Line(row.key, row.running, row.concurrency_limit, row.paused, row.cap, row.cap_limit),
            group=None if row.released is None else _group(row),
        ),
    )


def _group(row: Row[Any]) -> Group:
    return Group(row.max_running, row.released, row.before, row.before_ids, gated=row.gated)
