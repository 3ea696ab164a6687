"""What waits and runs: one count over all unfinished jobs, from which the rest is derived."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

WAITING = ("held", "ready", "scheduled")
RUNNING = "running"

# Every key with its limits, each with the groups of its unfinished jobs, and a key without any once. The waits are
# those that the jobs which run now have had behind them. Locks: none.
COUNT = text("""
WITH counted AS MATERIALIZED (
  SELECT key, org_id, kind, pool, state, epoch > 0 AS begun, count(*) AS jobs,
    extract(epoch FROM now() - min(ready_at))::float8 AS oldest_seconds
  FROM jobs WHERE state IN ('held', 'ready', 'scheduled', 'running')
  GROUP BY key, org_id, kind, pool, state, epoch > 0
), waits AS (
  SELECT key, percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (
    ORDER BY greatest(extract(epoch FROM started_at - ready_at), 0)::float8
  ) AS quantiles
  FROM jobs WHERE state = 'running' GROUP BY key
)
SELECT k.key, k.deploy_limit, k.override_limit, k.paused, k.running AS claimed, waits.quantiles,
  c.org_id, c.kind, c.pool, c.state, c.begun, c.jobs, c.oldest_seconds
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
    begun: bool
    """They have been run before."""
    jobs: int
    oldest_seconds: float
    """Since the first of them became ready."""


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

    def retrying_outside(self, pools: Collection[str]) -> int:
        """Jobs that wait for another execution in pools other than these."""
        return sum(
            group.jobs for group in self.groups if group.begun and group.state in WAITING and group.pool not in pools
        )


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
        oldest_ready_seconds=max((group.oldest_seconds for group in groups if group.state == "ready"), default=None),
    )


async def read_backlog(connection: AsyncConnection) -> Backlog:
    """One statement, which looks at every unfinished job: worth keeping for a few seconds."""
    rows = (await connection.execute(COUNT)).all()
    keys: dict[str, Key] = {}
    groups = []
    for row in rows:
        p50, p95 = row.quantiles or (None, None)
        keys[row.key] = Key(row.key, row.deploy_limit, row.override_limit, row.paused, row.claimed, p50, p95)
        if row.org_id is not None:
            groups.append(
                Group(row.key, row.org_id, row.kind, row.pool, row.state, row.begun, row.jobs, row.oldest_seconds)
            )
    return Backlog(datetime.now(UTC), list(keys.values()), groups)
