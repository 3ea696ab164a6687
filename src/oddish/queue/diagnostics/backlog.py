"""What waits and runs: one count over all unfinished jobs, from which the rest is derived."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

RUNNING = "running"

# Every key with its limits and the groups of its unfinished jobs; a key without any once. Those that are ready are
# counted by their index alone: a line belongs to one organisation and has jobs of one kind, so that its first one tells
# both. The waits are those that the jobs which run now have had behind them. Locks: none.
COUNT = text("""
WITH ready AS MATERIALIZED (
  SELECT pool, key, lane, count(*) AS jobs, min(ready_at) AS oldest_at FROM jobs WHERE state = 'ready'
  GROUP BY pool, key, lane
), counted AS (
  SELECT ready.key, first.org_id, first.kind, ready.pool, 'ready' AS state, sum(ready.jobs)::bigint AS jobs,
    min(ready.oldest_at) AS oldest_at
  FROM ready CROSS JOIN LATERAL (
    SELECT j.org_id, j.kind FROM jobs j
    WHERE j.pool = ready.pool AND j.key = ready.key AND j.lane = ready.lane AND j.state = 'ready'
    ORDER BY j.priority, j.ready_at, j.id LIMIT 1
  ) first
  GROUP BY ready.key, first.org_id, first.kind, ready.pool
  UNION ALL
  SELECT key, org_id, kind, pool, 'scheduled', count(*), NULL FROM jobs WHERE state = 'scheduled'
  GROUP BY key, org_id, kind, pool
  UNION ALL
  SELECT key, org_id, kind, pool, 'held', count(*), NULL FROM jobs WHERE state = 'held'
  GROUP BY key, org_id, kind, pool
  UNION ALL
  SELECT key, org_id, kind, pool, 'running', count(*), NULL FROM jobs WHERE state = 'running'
  GROUP BY key, org_id, kind, pool
), waits AS (
  SELECT key, percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (
    ORDER BY greatest(extract(epoch FROM started_at - ready_at), 0)::float8
  ) AS quantiles
  FROM jobs WHERE state = 'running' GROUP BY key
)
SELECT k.key, k.deploy_limit, k.override_limit, k.paused, k.running AS claimed, waits.quantiles,
  c.org_id, c.kind, c.pool, c.state, c.jobs, extract(epoch FROM now() - c.oldest_at)::float8 AS oldest_seconds
FROM queue_keys k LEFT JOIN counted c USING (key) LEFT JOIN waits USING (key)
ORDER BY k.key, c.kind
""")


@dataclass(frozen=True)
class Group:
    """Unfinished jobs that are alike."""

    key: str
    org_id: str
    kind: str
    pool: str
    state: str
    jobs: int
    oldest_seconds: float | None
    """Since the first of those that are ready became so."""


@dataclass(frozen=True)
class Key:
    """A queue key and its limits."""

    name: str
    deploy_limit: int
    override_limit: int | None
    paused: bool
    claimed: int
    """What the queue itself counts as running."""
    wait_p50_seconds: float | None
    wait_p95_seconds: float | None

    @property
    def limit(self) -> int:
        return self.deploy_limit if self.override_limit is None else self.override_limit


@dataclass(frozen=True)
class Capacity:
    """How full a queue key is, over all organisations."""

    key: Key
    ready: int
    scheduled: int
    held: int
    running: int
    oldest_ready_seconds: float | None

    @property
    def fill(self) -> float:
        """Of its limit, from 0 to 1; a key that may run nothing is full."""
        limit = self.key.limit
        return min(1.0, self.key.claimed / limit) if limit else 1.0


@dataclass(frozen=True)
class Depth:
    """The jobs of one kind and key."""

    kind: str
    key: str
    queued: int
    running: int


@dataclass(frozen=True)
class Backlog:
    """The queue at one moment."""

    at: datetime
    keys: Sequence[Key]
    groups: Sequence[Group]

    def capacities(self) -> list[Capacity]:
        """By key, those without jobs included."""
        by_key: dict[str, list[Group]] = {key.name: [] for key in self.keys}
        for group in self.groups:
            by_key[group.key].append(group)
        return [_capacity(key, by_key[key.name]) for key in self.keys]

    def depths(self) -> list[Depth]:
        """By kind and key, where there are jobs."""
        queued: Counter[tuple[str, str]] = Counter()
        running: Counter[tuple[str, str]] = Counter()
        for group in self.groups:
            (running if group.state == RUNNING else queued)[group.kind, group.key] += group.jobs
        names = sorted(queued.keys() | running.keys())
        return [Depth(kind, key, queued[kind, key], running[kind, key]) for kind, key in names]

    def states(self, org_id: str) -> Mapping[str, Mapping[str, int]]:
        """The jobs of an organisation by kind and state."""
        found: dict[str, Counter[str]] = {}
        for group in self.groups:
            if group.org_id == org_id:
                found.setdefault(group.kind, Counter())[group.state] += group.jobs
        return found

    def waiting_pools(self) -> list[str]:
        """In which something is ready or waits for its time."""
        return sorted({group.pool for group in self.groups if group.state in ("ready", "scheduled")})


def _capacity(key: Key, groups: Sequence[Group]) -> Capacity:
    jobs: Counter[str] = Counter()
    for group in groups:
        jobs[group.state] += group.jobs
    return Capacity(
        key=key,
        ready=jobs["ready"],
        scheduled=jobs["scheduled"],
        held=jobs["held"],
        running=jobs[RUNNING],
        oldest_ready_seconds=max((age for group in groups if (age := group.oldest_seconds) is not None), default=None),
    )


async def read_backlog(connection: AsyncConnection) -> Backlog:
    """One statement, which counts every unfinished job: worth keeping for a few seconds."""
    rows = (await connection.execute(COUNT)).all()
    keys: dict[str, Key] = {}
    groups = []
    for row in rows:
        p50, p95 = row.quantiles or (None, None)
        keys[row.key] = Key(row.key, row.deploy_limit, row.override_limit, row.paused, row.claimed, p50, p95)
        if row.org_id is not None:
            groups.append(Group(row.key, row.org_id, row.kind, row.pool, row.state, row.jobs, row.oldest_seconds))
    return Backlog(datetime.now(UTC), list(keys.values()), groups)
