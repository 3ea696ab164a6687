"""How busy the deployment is: what waits and runs, who could run it, and how much a client should send at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.pool import QueuePool

from oddish.identity.principal import Principal

LOWEST_CEILING, HIGHEST_CEILING = 4, 64
TTL_SECONDS = 5

# The unfinished trials of an organisation by queue key, in the words of a trial's status. Locks: none.
QUEUES = text("""
SELECT j.key, coalesce(k.override_limit, k.deploy_limit) AS "limit", k.paused,
  count(*) FILTER (WHERE j.state <> 'running' AND j.epoch = 0) AS queued,
  count(*) FILTER (WHERE j.state = 'running') AS running,
  count(*) FILTER (WHERE j.state <> 'running' AND j.epoch > 0) AS retrying
FROM jobs j JOIN queue_keys k ON k.key = j.key
WHERE j.org_id = :org_id AND j.kind = 'trial' AND j.state IN ('held', 'ready', 'scheduled', 'running')
GROUP BY j.key, k.override_limit, k.deploy_limit, k.paused ORDER BY j.key
""")

# Workers whose lease is valid. Locks: none.
ALIVE = text("SELECT count(*) FROM workers WHERE lease_until >= clock_timestamp() AND stopped_at IS NULL")


@dataclass(frozen=True)
class Queue:
    """The unfinished trials of one queue key; ``limit`` is how many of all organisations may run at once."""

    key: str
    limit: int
    paused: bool
    queued: int
    running: int
    retrying: int


async def queues(connection: AsyncConnection, principal: Principal) -> Sequence[Queue]:
    rows = (await connection.execute(QUEUES, {"org_id": principal.org_id})).mappings()
    return [Queue(**row) for row in rows]


async def alive_workers(connection: AsyncConnection) -> int:
    return int((await connection.execute(ALIVE)).scalar_one())


def submit_ceiling(engine: AsyncEngine) -> int:
    """Submissions at a time that this server likes from one client: as many as it has database connections to spare."""
    pool = engine.sync_engine.pool
    spare = pool.size() - pool.checkedout() if isinstance(pool, QueuePool) else LOWEST_CEILING
    return max(LOWEST_CEILING, min(HIGHEST_CEILING, spare))


def pressure(engine: AsyncEngine) -> float:
    """The share of the server's database connections that is in use, from 0 to 1."""
    pool = engine.sync_engine.pool
    return min(1.0, pool.checkedout() / pool.size()) if isinstance(pool, QueuePool) else 0.0
