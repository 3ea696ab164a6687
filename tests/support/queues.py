"""A small vocabulary to drive the queue with."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.queue.archive import archive
from oddish.queue.cancel import CancelSummary, cancel
from oddish.queue.claim import Claim, claim
from oddish.queue.enqueue import Group, Lane, NewJob, add_group, enqueue, prepare_lanes
from oddish.queue.finish import FinalState, RetryCause, fence, finish, retry
from oddish.queue.keys import Limits
from oddish.queue.lease import Publication, Worker, register
from oddish.queue.schedule import promote

ORG = "org"
POOL = "local@harbor"
TIMES = {
    "workers": ("lease_until",),
    "publications": ("published_at",),
    "jobs": ("run_at", "ready_at", "finished_at"),
    "finished_jobs": ("finished_at",),
    "queue_lanes": ("last_claim", "touched_at"),
    "job_groups": ("created_at",),
}


@dataclass
class Queue:
    """Each method is one transaction, as a real process would make it."""

    engine: AsyncEngine
    limits: Limits

    @cached_property
    def _reading(self) -> AsyncEngine:
        return self.engine.execution_options(isolation_level="AUTOCOMMIT")

    async def worker(self, worker_id: str, *, pool: str = POOL, lease_seconds: float = 30) -> None:
        worker = Worker(worker_id, "host", 1, "0", [pool], cpus=2, memory_mb=4096, concurrency=4)
        publication = Publication(pool, pool.partition("@")[0], "harbor", 0, [])
        async with self.engine.begin() as connection:
            await register(connection, worker, [publication], lease_seconds=lease_seconds)

    async def add(
        self,
        *subjects: str,
        key: str = "p/m",
        user: str = "u",
        pool: str = POOL,
        priority: int = 0,
        max_attempts: int = 3,
        memory_mb: int = 0,
        group: str | None = None,
    ) -> None:
        await prepare_lanes(self.engine, [Lane(key, user, key.partition("/")[0], ORG)], self.limits)
        jobs = [
            NewJob(ORG, "noop", subject, pool, key, user, priority, max_attempts, memory_mb, group)
            for subject in subjects
        ]
        async with self.engine.begin() as connection:
            await enqueue(connection, jobs)

    async def group(self, group_id: str, *, max_running: int | None = None, after: str | None = None) -> None:
        async with self.engine.begin() as connection:
            await add_group(connection, Group(group_id, ORG, max_running, after))

    async def claim(
        self, worker_id: str = "w", *, slots: int = 100, pools: Sequence[str] = (POOL,), memory_mb: int = 4096
    ) -> list[Claim]:
        async with self.engine.begin() as connection:
            return await claim(connection, worker_id=worker_id, pools=pools, slots=slots, memory_mb=memory_mb)

    async def finish(self, held: Claim, state: FinalState = "done") -> None:
        async with self.engine.begin() as connection:
            await fence(connection, held)
            await finish(connection, held, state)

    async def retry(self, held: Claim, *, delay_seconds: float = 0, cause: RetryCause = "failed") -> None:
        async with self.engine.begin() as connection:
            await fence(connection, held)
            await retry(connection, held, delay_seconds=delay_seconds, error="again", cause=cause)

    async def cancel(self, *subjects: str) -> CancelSummary:
        async with self.engine.begin() as connection:
            return await cancel(connection, kind="noop", subject_ids=subjects)

    async def promote(self) -> float | None:
        async with self.engine.begin() as connection:
            return await promote(connection)

    async def execute(self, statement: str, **parameters: object) -> None:
        async with self.engine.begin() as connection:
            await connection.execute(text(statement), parameters)

    async def rows(self, statement: str, **parameters: object) -> list[tuple]:
        """What a statement that changes nothing finds."""
        async with self._reading.connect() as connection:
            return [tuple(row) for row in await connection.execute(text(statement), parameters)]

    async def states(self) -> dict[str, str]:
        """Of all jobs, archived or not."""
        return dict(
            await self.rows("SELECT subject_id, state FROM jobs UNION ALL SELECT subject_id, state FROM finished_jobs")
        )

    async def archive(self) -> int:
        async with self.engine.begin() as connection:
            return await archive(connection)

    async def pass_time(self, seconds: float, *, leases: bool = True) -> None:
        """Shift every time that the queue compares with the clock; leases unless they are renewed meanwhile."""
        shifts = []
        for table, columns in TIMES.items():
            if table != "workers" or leases:
                shifted = ", ".join(f"{column} = {column} - make_interval(secs => :seconds)" for column in columns)
                shifts.append(f"{table}_ AS (UPDATE {table} SET {shifted})")  # noqa: S608
        await self.execute(f"WITH {', '.join(shifts)} SELECT", seconds=seconds)

    async def miscounted(self) -> list[tuple]:
        """Counters of keys, lanes and caps that differ from the jobs they count."""
        return await self.rows(
            """
            SELECT 'key', k.key, k.running FROM queue_keys k
            WHERE running <> (SELECT count(*) FROM jobs j WHERE j.key = k.key AND j.state = 'running')
            UNION ALL SELECT 'lane', l.key || ' ' || l.lane, l.running FROM queue_lanes l WHERE running <> (
              SELECT count(*) FROM jobs j WHERE j.key = l.key AND j.lane = l.lane AND j.state = 'running')
            UNION ALL SELECT 'cap', c.name, c.running FROM queue_caps c WHERE running <> (
              SELECT count(*) FROM jobs j JOIN queue_lanes l USING (key, lane)
              WHERE c.name = ANY (l.caps) AND j.state = 'running')
            """
        )
