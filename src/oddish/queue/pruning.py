"""Pruning: what the queue keeps for jobs, and no job has needed for a while.

Candidates are locked first and looked at again by a statement that sees what was committed meanwhile. Whoever needs one
that is locked waits and makes it anew; one that somebody has taken is left alone. ``want_lane()`` of the schema touches
the lanes that a submission is about to use, so that none goes before its jobs come.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

UNUSED_SECONDS = 3600.0
"""How long nobody has wanted a lane or a group that goes; far longer than any transaction that submits."""
GONE_SECONDS = 7 * 24 * 3600.0
"""How long a worker has been gone that is forgotten, with what it published."""
PRUNED_AT_A_TIME = 500

# Lanes without jobs that nobody has wanted or claimed from for a while. Locks: queue_lanes, those that nobody uses.
UNUSED_LANES = """
SELECT key, lane FROM queue_lanes l
WHERE running = 0 AND greatest(touched_at, last_claim) < clock_timestamp() - make_interval(secs => :seconds)
  AND NOT EXISTS (SELECT FROM jobs j WHERE j.key = l.key AND j.lane = l.lane)
ORDER BY key, lane LIMIT :most FOR UPDATE SKIP LOCKED
"""
DELETE_LANES = """
DELETE FROM queue_lanes l
USING unnest(CAST(:key AS text[]), CAST(:lane AS text[])) AS unused (key, lane)
WHERE (l.key, l.lane) = (unused.key, unused.lane)
  AND NOT EXISTS (SELECT FROM jobs j WHERE j.key = l.key AND j.lane = l.lane)
"""

# Keys without lanes that no admin has limited or paused. Who wants one locks it, or makes it anew, until its lanes are
# there. Locks: queue_keys, those that nobody uses.
UNUSED_KEYS = """
SELECT key FROM queue_keys k
WHERE running = 0 AND override_limit IS NULL AND NOT paused
  AND NOT EXISTS (SELECT FROM queue_lanes l WHERE l.key = k.key)
ORDER BY key LIMIT :most FOR UPDATE SKIP LOCKED
"""
DELETE_KEYS = """
DELETE FROM queue_keys k WHERE key = ANY (CAST(:key AS text[]))
  AND NOT EXISTS (SELECT FROM queue_lanes l WHERE l.key = k.key)
"""

# Groups without jobs that none comes after. Locks: job_groups, those that nobody uses.
UNUSED_GROUPS = """
SELECT id FROM job_groups g
WHERE created_at < clock_timestamp() - make_interval(secs => :seconds)
  AND NOT EXISTS (SELECT FROM jobs WHERE group_id = g.id) AND NOT EXISTS (SELECT FROM job_groups WHERE after = g.id)
ORDER BY id LIMIT :most FOR UPDATE SKIP LOCKED
"""
DELETE_GROUPS = """
DELETE FROM job_groups g WHERE id = ANY (CAST(:id AS text[]))
  AND NOT EXISTS (SELECT FROM jobs WHERE group_id = g.id) AND NOT EXISTS (SELECT FROM job_groups WHERE after = g.id)
"""

# Caps without lanes; an override is an admin's word and stays, that of an organisation while there is one.
# Locks: queue_caps, those that nobody uses.
UNUSED_CAPS = """
SELECT name FROM queue_caps c
WHERE running = 0 AND NOT EXISTS (SELECT FROM queue_lanes WHERE c.name = ANY (caps))
  AND (override_limit IS NULL
    OR name LIKE 'org:%' AND NOT EXISTS (SELECT FROM organisations WHERE id = substr(c.name, 5)))
ORDER BY name LIMIT :most FOR UPDATE SKIP LOCKED
"""
DELETE_CAPS = """
DELETE FROM queue_caps c WHERE name = ANY (CAST(:name AS text[]))
  AND NOT EXISTS (SELECT FROM queue_lanes WHERE c.name = ANY (caps))
"""

# Workers gone for a while, that own nothing. Locks: workers, those that nobody uses.
FORGET_WORKERS = """
DELETE FROM workers w USING (
  SELECT id FROM workers old
  WHERE lease_until < clock_timestamp() - make_interval(secs => :seconds)
    AND NOT EXISTS (SELECT FROM jobs WHERE worker_id = old.id AND state = 'running')
  ORDER BY id LIMIT :most FOR UPDATE SKIP LOCKED
) gone WHERE w.id = gone.id
"""

# What was published long ago, by a worker that is gone, of a pool that no worker offers any more. Locks: publications.
FORGET_PUBLICATIONS = """
DELETE FROM publications p
WHERE published_at < clock_timestamp() - make_interval(secs => :seconds) AND NOT EXISTS (
  SELECT FROM workers w WHERE w.lease_until >= clock_timestamp() AND w.stopped_at IS NULL
    AND (w.id = p.worker_id OR p.pool = ANY (w.pools))
)
"""


@dataclass(frozen=True)
class Pruned:
    """How many of each there were."""

    lanes: int
    keys: int
    groups: int
    caps: int
    workers: int
    publications: int


async def prune(engine: AsyncEngine) -> Pruned:
    """Delete all that is not needed, in short transactions of its own. Jobs may be added and claimed meanwhile."""
    lanes = await _all(engine, prune_lanes)
    keys = await _all(engine, prune_keys)
    groups = await _all(engine, prune_groups)
    caps = await _all(engine, prune_caps)
    async with engine.begin() as connection:
        parameters = {"seconds": GONE_SECONDS, "most": PRUNED_AT_A_TIME}
        workers = (await connection.execute(text(FORGET_WORKERS), parameters)).rowcount
    async with engine.begin() as connection:
        publications = (await connection.execute(text(FORGET_PUBLICATIONS), {"seconds": GONE_SECONDS})).rowcount
    return Pruned(lanes=lanes, keys=keys, groups=groups, caps=caps, workers=workers, publications=publications)


async def prune_lanes(connection: AsyncConnection) -> int:
    """Delete some lanes that are not needed, in the caller's transaction, which does nothing else; how many."""
    return await _prune(connection, UNUSED_LANES, DELETE_LANES)


async def prune_keys(connection: AsyncConnection) -> int:
    """As ``prune_lanes``, for keys."""
    return await _prune(connection, UNUSED_KEYS, DELETE_KEYS)


async def prune_groups(connection: AsyncConnection) -> int:
    """As ``prune_lanes``, for groups: one that others come after goes when they have gone."""
    return await _prune(connection, UNUSED_GROUPS, DELETE_GROUPS)


async def prune_caps(connection: AsyncConnection) -> int:
    """As ``prune_lanes``, for caps."""
    return await _prune(connection, UNUSED_CAPS, DELETE_CAPS)


async def _prune(connection: AsyncConnection, candidates: str, delete: str) -> int:
    known = {"seconds": UNUSED_SECONDS, "most": PRUNED_AT_A_TIME}
    found = await connection.execute(text(candidates), known)
    columns, rows = tuple(found.keys()), found.all()
    if not rows:
        return 0
    parameters = {column: [row[place] for row in rows] for place, column in enumerate(columns)}
    return (await connection.execute(text(delete), parameters)).rowcount


async def _all(engine: AsyncEngine, step: Callable[[AsyncConnection], Awaitable[int]]) -> int:
    total = 0
    while True:
        async with engine.begin() as connection:
            count = await step(connection)
        total += count
        if count == 0:
            return total
