"""Putting jobs into the queue."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from oddish.queue.keys import Limits, organisation_cap, provider_cap

JOBS_CHANNEL = "oddish_jobs"

# Makes the keys that are new. Locks: queue_keys (by key).
PREPARE_KEYS = """
INSERT INTO queue_keys (key, deploy_limit)
SELECT key, deploy_limit FROM unnest(CAST(:keys AS text[]), CAST(:limits AS int[])) AS new (key, deploy_limit)
ORDER BY key ON CONFLICT (key) DO UPDATE SET deploy_limit = excluded.deploy_limit
WHERE :authoritative AND queue_keys.deploy_limit <> excluded.deploy_limit
"""

# Makes the lanes that are new, and by a trigger keeps the others from being pruned for a while.
# Locks: queue_keys and users (shared), queue_lanes (by key, lane).
PREPARE_LANES = """
INSERT INTO queue_lanes (key, lane, caps)
SELECT key, lane, array_remove(ARRAY[provider_cap, org_cap, quota], NULL)
FROM unnest(CAST(:keys AS text[]), CAST(:lanes AS text[]), CAST(:provider_caps AS text[]), CAST(:org_caps AS text[]),
    CAST(:quotas AS text[])) AS new (key, lane, provider_cap, org_cap, quota)
ORDER BY key, lane ON CONFLICT DO NOTHING
"""

# Makes the caps that are new and keeps the deployment's limits of the others. Locks: queue_caps (by name).
PREPARE_CAPS = """
INSERT INTO queue_caps (name, deploy_limit)
SELECT name, deploy_limit FROM unnest(CAST(:names AS text[]), CAST(:limits AS int[])) AS new (name, deploy_limit)
ORDER BY name ON CONFLICT (name) DO UPDATE SET deploy_limit = excluded.deploy_limit
WHERE :authoritative AND queue_caps.deploy_limit IS DISTINCT FROM excluded.deploy_limit
"""

# Adds jobs: ready, or held when their group decides. Locks: queue_lanes and job_groups (shared, by foreign key).
ENQUEUE = """
INSERT INTO jobs (org_id, kind, subject_id, pool, key, lane, priority, max_attempts, memory_mb, group_id, state)
VALUES (:org_id, :kind, :subject_id, :pool, :key, :lane, :priority, :max_attempts, :memory_mb, :group_id,
        CASE WHEN CAST(:group_id AS text) IS NULL THEN 'ready' ELSE 'held' END)
"""

# Makes a group. One to come after that is gone was pruned, so it has ended. Locks: job_groups (shared, that one).
ADD_GROUP = """
INSERT INTO job_groups (id, org_id, max_running, after)
VALUES (:id, :org_id, :max_running, (SELECT id FROM job_groups WHERE id = :after FOR KEY SHARE))
"""

# Releases what a group has room for. Locks: job_groups, then held jobs that nobody else has.
RELEASE_GROUP = "SELECT release_group(:group_id)"

NOTIFY = "SELECT pg_notify(:channel, '')"


@dataclass(frozen=True)
class Lane:
    """One user's share of a key, and the caps it counts against."""

    key: str
    lane: str
    provider: str
    org_id: str
    quota: str | None = None
    """A cap that its jobs count against beside those of the provider and the organisation."""


@dataclass(frozen=True)
class NewJob:
    org_id: str
    kind: str
    subject_id: str
    pool: str
    key: str
    lane: str
    priority: int
    """0 low, 1 high."""
    max_attempts: int
    memory_mb: int = 0
    group_id: str | None = None


@dataclass(frozen=True)
class Group:
    """Jobs of which at most ``max_running`` are released at a time, after another group has ended."""

    id: str
    org_id: str
    max_running: int | None = None
    """None: all of them at once."""
    after: str | None = None


async def prepare_lanes(engine: AsyncEngine, lanes: Iterable[Lane], limits: Limits) -> None:
    """Make the keys, lanes and caps of coming jobs, in a short transaction of its own.

    Two long transactions that make the same new key would wait for each other, in opposite orders for ever.
    """
    wanted = sorted(set(lanes), key=lambda lane: (lane.key, lane.lane))
    keys = sorted({lane.key for lane in wanted})
    provider_caps = [provider_cap(lane.provider) for lane in wanted]
    org_caps = [organisation_cap(lane.org_id) for lane in wanted]
    quotas = [lane.quota for lane in wanted]
    caps = sorted({*provider_caps, *org_caps, *filter(None, quotas)})
    async with engine.begin() as connection:
        of_keys = {"keys": keys, "limits": [limits.of(key) for key in keys], "authoritative": limits.authoritative}
        await connection.execute(text(PREPARE_KEYS), of_keys)
        await connection.execute(
            text(PREPARE_LANES),
            {
                "keys": [lane.key for lane in wanted],
                "lanes": [lane.lane for lane in wanted],
                "provider_caps": provider_caps,
                "org_caps": org_caps,
                "quotas": quotas,
            },
        )
        of_caps = {
            "names": caps,
            "limits": [limits.of_cap(name) for name in caps],
            "authoritative": limits.authoritative,
        }
        await connection.execute(text(PREPARE_CAPS), of_caps)


async def add_group(connection: AsyncConnection, group: Group) -> None:
    """Make ``group`` in the caller's transaction, before its jobs are added.

    An empty group is pruned an hour later; one without any live job has ended, whether it is there or not.
    """
    await connection.execute(text(ADD_GROUP), asdict(group))


async def enqueue(connection: AsyncConnection, jobs: Iterable[NewJob]) -> None:
    """Add ``jobs`` in the caller's transaction; workers are woken when it commits."""
    rows = [asdict(job) for job in jobs]
    if rows:
        await connection.execute(text(ENQUEUE), rows)
        for group_id in sorted({job["group_id"] for job in rows if job["group_id"] is not None}):
            await connection.execute(text(RELEASE_GROUP), {"group_id": group_id})
        await connection.execute(text(NOTIFY), {"channel": JOBS_CHANNEL})
