"""Leases: one row and one statement per worker say that it lives."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.credentials import Table

# Begins a worker's life; once more when the answer to the first time was lost. Locks: none held by others.
REGISTER = """
INSERT INTO workers (id, hostname, pid, version, pools, cpus, memory_mb, concurrency, credentials, lease_until)
VALUES (:id, :hostname, :pid, :version, :pools, :cpus, :memory_mb, :concurrency, :credentials,
        clock_timestamp() + make_interval(secs => :lease_seconds))
ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until
"""

# Keeps what the worker can run for submissions to check against. That it cannot offer a pool is not kept while another
# lives that does. Locks: publications (by pool).
PUBLISH = """
INSERT INTO publications (pool, environment, engine, preference, agents, credentials, reason, memory_mb, worker_id)
VALUES (:pool, :environment, :engine, :preference, CAST(:agents AS jsonb), CAST(:credentials AS jsonb), :reason,
        :memory_mb, :worker_id)
ON CONFLICT (pool) DO UPDATE SET environment = excluded.environment, engine = excluded.engine,
  preference = excluded.preference, agents = excluded.agents, credentials = excluded.credentials,
  reason = excluded.reason, memory_mb = excluded.memory_mb, worker_id = excluded.worker_id,
  published_at = clock_timestamp()
WHERE excluded.reason IS NULL OR NOT EXISTS (
  SELECT FROM workers w
  WHERE w.id <> excluded.worker_id AND w.lease_until > clock_timestamp() AND w.stopped_at IS NULL
    AND excluded.pool = ANY (w.pools)
)
"""

# Renews the lease unless it has ended, keeps why the worker claims nothing, and says what it may still run: no row when
# it is dead to the world, one without a job when it owns none. One that ended is renewed as long as nobody has taken
# its jobs: its machine slept, or nobody could renew. Locks: its own row.
RENEW = """
WITH renewed AS (
  UPDATE workers w SET lease_until = clock_timestamp() + make_interval(secs => :lease_seconds), declines = :declines
  WHERE id = :id AND stopped_at IS NULL AND (lease_until >= clock_timestamp() OR EXISTS (
    SELECT FROM jobs j WHERE j.worker_id = w.id AND j.state = 'running'))
  RETURNING id
)
SELECT j.id, j.epoch, j.claim_id, j.cancel_requested
FROM renewed LEFT JOIN jobs j ON j.worker_id = renewed.id AND j.state = 'running'
"""

# Ends a worker's life on its own account. Locks: its own row.
RETIRE = "UPDATE workers SET stopped_at = clock_timestamp(), lease_until = clock_timestamp() WHERE id = :id"


@dataclass(frozen=True)
class Worker:
    """One process life of a worker; a restart is a new one."""

    id: str
    hostname: str
    pid: int
    version: str
    pools: Sequence[str]
    cpus: int
    memory_mb: int
    concurrency: int
    credentials: Sequence[str] = ()
    """Variables of its own environment that it hands on to the attempts that name them."""


@dataclass(frozen=True)
class Publication:
    """What a worker says of one pool: what it can run there, or why it cannot offer it."""

    pool: str
    environment: str
    engine: str
    preference: int
    """Rank among the environments of the machine when none is asked for; the lowest wins."""
    agents: Sequence[dict[str, object]]
    reason: str | None = None
    """Why this machine cannot offer the environment; None when it does."""
    credentials: Table | None = None
    """Which variables its agents take their credentials from; None when the engine does not say."""


@dataclass(frozen=True)
class Owned:
    """An execution that is this worker's, and whether it should end."""

    id: int
    epoch: int
    claim_id: UUID
    cancel_requested: bool


async def register(
    connection: AsyncConnection, worker: Worker, publications: Sequence[Publication], *, lease_seconds: float
) -> None:
    """Begin the worker's life and publish its pools, in the caller's transaction."""
    await connection.execute(
        text(REGISTER),
        {
            "id": worker.id,
            "hostname": worker.hostname,
            "pid": worker.pid,
            "version": worker.version,
            "pools": list(worker.pools),
            "cpus": worker.cpus,
            "memory_mb": worker.memory_mb,
            "concurrency": worker.concurrency,
            "credentials": list(worker.credentials),
            "lease_seconds": lease_seconds,
        },
    )
    for publication in sorted(publications, key=lambda entry: entry.pool):
        await connection.execute(
            text(PUBLISH),
            {
                "pool": publication.pool,
                "environment": publication.environment,
                "engine": publication.engine,
                "preference": publication.preference,
                "agents": json.dumps(list(publication.agents)),
                "credentials": json.dumps(publication.credentials) if publication.credentials else None,
                "reason": publication.reason,
                "memory_mb": worker.memory_mb,
                "worker_id": worker.id,
            },
        )


async def renew(
    connection: AsyncConnection, worker_id: str, *, lease_seconds: float, declines: str | None = None
) -> list[Owned] | None:
    """Extend the lease and return what the worker owns; None when it had ended and others may run its jobs.

    ``declines`` says why it claims nothing, if so.
    """
    parameters = {"id": worker_id, "lease_seconds": lease_seconds, "declines": declines}
    rows = (await connection.execute(text(RENEW), parameters)).mappings().all()
    return [Owned(**row) for row in rows if row["id"] is not None] if rows else None


async def retire(connection: AsyncConnection, worker_id: str) -> None:
    """End the lease at once; whatever the worker still owned is lost and runs again elsewhere."""
    await connection.execute(text(RETIRE), {"id": worker_id})
