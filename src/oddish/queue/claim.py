"""Claiming: the fairest jobs that pass every limit."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

CLAIM_LOCK = 0x0DD15C
LOW_PRIORITY_PATIENCE_SECONDS = 600
"""How much longer a low job of a lane must have waited than a high one to go first."""

# Whether anything waits in :pools, within every limit or not. Locks: none.
WAITS = """
SELECT EXISTS (
  SELECT FROM unnest(CAST(:pools AS text[])) AS p (pool) CROSS JOIN LATERAL (
    SELECT FROM jobs j WHERE j.pool = p.pool AND j.state = 'ready' ORDER BY j.key LIMIT 1
  ) first
)
"""

# Lets one claim at a time look at the shared counters. Locks: none but itself.
SERIALISE = "SELECT pg_advisory_xact_lock(:lock)"

# Claims up to :slots jobs of :pools for a worker, at most one a lane, and opens an attempt for each trial.
# Candidates are lanes whose key and caps all have room, so that a full one hides nothing behind it; the heads of lanes
# are probed one by one, least served first, until enough are found. Those that share a key or cap with too little room
# are left for the next claim, never the first. Locks: jobs (by id); by trigger trials, queue_keys, queue_lanes and
# queue_caps.
CLAIM = """
WITH open AS MATERIALIZED (
  SELECT l.key, l.lane, l.caps, l.running / l.weight AS load, l.last_claim,
         coalesce(k.override_limit, k.deploy_limit) - k.running AS key_room
  FROM queue_lanes l JOIN queue_keys k ON k.key = l.key
  WHERE NOT k.paused AND k.running < coalesce(k.override_limit, k.deploy_limit)
    AND NOT l.caps && ARRAY(
      SELECT name FROM queue_caps WHERE running >= coalesce(override_limit, deploy_limit)
    )
  ORDER BY load, last_claim, key, lane
), heads AS MATERIALIZED (
  SELECT found.*, row_number() OVER turns AS turn, sum(memory_mb) OVER turns AS memory_mb_so_far FROM (
    SELECT open.*, head.id, head.memory_mb FROM open CROSS JOIN LATERAL (
      SELECT j.id, j.memory_mb FROM unnest(CAST(:pools AS text[])) AS p (pool)
      CROSS JOIN (VALUES (0::smallint), (1::smallint)) AS level (priority)
      CROSS JOIN LATERAL (
        SELECT i.id, i.priority, i.ready_at, i.memory_mb FROM jobs i
        WHERE i.pool = p.pool AND i.key = open.key AND i.lane = open.lane AND i.priority = level.priority
          AND i.state = 'ready'
        ORDER BY i.ready_at, i.id LIMIT 1
      ) j
      WHERE j.memory_mb <= :memory_mb
      ORDER BY j.ready_at + make_interval(secs => CASE j.priority WHEN 0 THEN :patience ELSE 0 END), j.id LIMIT 1
    ) head
    ORDER BY load, last_claim, key, lane LIMIT :slots
  ) found WINDOW turns AS (ORDER BY load, last_claim, key, lane)
), fit AS (
  SELECT id FROM (
    SELECT id, key_room, memory_mb_so_far, row_number() OVER (PARTITION BY key ORDER BY turn) AS place FROM heads
  ) by_key WHERE place <= key_room AND memory_mb_so_far <= :memory_mb
  EXCEPT
  SELECT id FROM (
    SELECT heads.id, coalesce(c.override_limit, c.deploy_limit) - c.running AS room,
           row_number() OVER (PARTITION BY c.name ORDER BY turn) AS place
    FROM heads JOIN queue_caps c ON c.name = ANY (heads.caps)
  ) by_cap WHERE place > room
), locked AS (
  SELECT id FROM jobs WHERE id IN (SELECT id FROM fit) AND state = 'ready' ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
), claimed AS (
  UPDATE jobs SET state = 'running', epoch = epoch + 1, claim_id = gen_random_uuid(), worker_id = :worker_id,
    attempt = attempt + 1, started_at = clock_timestamp(), error = NULL
  FROM locked WHERE jobs.id = locked.id
  RETURNING jobs.id, jobs.org_id, jobs.kind, jobs.subject_id, jobs.epoch, jobs.claim_id, jobs.attempt,
    jobs.max_attempts, jobs.losses, jobs.memory_mb
), opened AS (
  INSERT INTO attempts (trial_id, epoch, org_id, job_id, claim_id, worker_id, stage)
  SELECT subject_id, epoch, org_id, id, claim_id, :worker_id, 'trial_started' FROM claimed WHERE kind = 'trial'
)
SELECT * FROM claimed ORDER BY id
"""


@dataclass(frozen=True)
class Claim:
    """One execution of a job, and the right to report on it: the fence is (id, epoch, claim id)."""

    id: int
    org_id: str
    kind: str
    subject_id: str
    epoch: int
    claim_id: UUID
    attempt: int
    max_attempts: int
    losses: int
    memory_mb: int

    @property
    def tag(self) -> str:
        """Unique among the executions of the subject: ``<epoch>-<claim prefix>``."""
        return f"{self.epoch}-{self.claim_id.hex[:8]}"

    @property
    def label(self) -> str:
        """Unique name of the execution, safe as one path component: ``<subject>.<tag>``."""
        return f"{self.subject_id}.{self.tag}"


async def anything_waits(connection: AsyncConnection, pools: Sequence[str]) -> bool:
    """Whether there may be something to claim; asking holds up nobody who claims."""
    return bool(await connection.scalar(text(WAITS), {"pools": list(pools)}))


async def claim(
    connection: AsyncConnection, *, worker_id: str, pools: Sequence[str], slots: int, memory_mb: int
) -> list[Claim]:
    """Claim up to ``slots`` jobs that fit ``memory_mb``, in the caller's transaction, which must do nothing else."""
    await connection.execute(text(SERIALISE), {"lock": CLAIM_LOCK})
    rows = await connection.execute(
        text(CLAIM),
        {
            "worker_id": worker_id,
            "pools": list(pools),
            "slots": slots,
            "memory_mb": memory_mb,
            "patience": LOW_PRIORITY_PATIENCE_SECONDS,
        },
    )
    return [Claim(**row) for row in rows.mappings()]
