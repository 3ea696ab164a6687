"""A queue of jobs that do nothing, in a database of the bench."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from oddish.db.engine import connect
from oddish.queue.claim import Claim, claim
from oddish.queue.enqueue import Lane, NewJob, enqueue, prepare_lanes
from oddish.queue.finish import fence, finish
from oddish.queue.keys import Limits
from oddish.queue.lease import Publication, Worker, register

ORG = "bench"
POOL = "noop@bench"
WORKER = "bench"
MEMORY_MB = 65_536
LONG_SECONDS = 10**9

# Spreads jobs over keys p/0, p/1, ... and users u0, u1, ... of each.
FILL = """
INSERT INTO jobs (org_id, kind, subject_id, pool, key, lane, priority, max_attempts, state)
SELECT :org, 'noop', 's' || i, :pool, 'p/' || (i % :keys), 'u' || (i / :keys % :users), 0, 1, 'ready'
FROM generate_series(1, :jobs) AS i
"""


async def offer(url: str, *, pool: str) -> None:
    """A worker, whose lease does not end, says that it runs the oracle in ``pool``, which is of the local sandbox."""
    engine = connect(url, role="bench")
    worker = Worker(WORKER, "host", 1, "0", [pool], cpus=2, memory_mb=MEMORY_MB, concurrency=64)
    agents = [{"name": "oracle", "needs_model": False}]
    publication = Publication(pool, "local", pool.partition("@")[2], 0, agents)
    async with engine.begin() as connection:
        await register(connection, worker, [publication], lease_seconds=LONG_SECONDS)
    await engine.dispose()


@asynccontextmanager
async def queue(url: str, *, keys: int, users: int, limit: int) -> AsyncIterator[AsyncEngine]:
    """The database's queue, emptied, with a worker whose lease does not end."""
    engine = connect(url, role="bench", pool_size=24)
    try:
        async with engine.begin() as connection:
            await connection.execute(text("TRUNCATE organisations, queue_keys, queue_caps, workers CASCADE"))
            await connection.execute(text("INSERT INTO organisations (id, name) VALUES (:id, :id)"), {"id": ORG})
            worker = Worker(WORKER, "host", 1, "0", [POOL], cpus=2, memory_mb=MEMORY_MB, concurrency=64)
            await register(connection, worker, [], lease_seconds=LONG_SECONDS)
        wanted = [Lane(f"p/{key}", f"u{user}", "p", ORG) for key in range(keys) for user in range(users)]
        await prepare_lanes(engine, wanted, Limits(limit, limit, {}))
        yield engine
    finally:
        await engine.dispose()


async def fill(engine: AsyncEngine, *, keys: int, users: int, jobs: int) -> None:
    """Ready jobs, and statistics about them."""
    async with engine.begin() as connection:
        await connection.execute(text("SET LOCAL statement_timeout = 0"))
        await connection.execute(text(FILL), {"org": ORG, "pool": POOL, "keys": keys, "users": users, "jobs": jobs})
    async with engine.connect() as plain:
        connection = await plain.execution_options(isolation_level="AUTOCOMMIT")
        await connection.execute(text("SET statement_timeout = 0"))
        for table in ("jobs", "queue_keys", "queue_lanes"):
            await connection.execute(text(f"VACUUM ANALYZE {table}"))
        await connection.execute(text("RESET statement_timeout"))


async def occupy(engine: AsyncEngine, *, full: int, limit: int) -> None:
    """The first ``full`` keys are at their limit, and nothing runs of the others."""
    statement = text("UPDATE queue_keys SET running = CASE WHEN substr(key, 3)::int < :full THEN :limit ELSE 0 END")
    async with engine.begin() as connection:
        await connection.execute(statement, {"full": full, "limit": limit})


async def add(engine: AsyncEngine, user: str, count: int, *, key: str = "p/0") -> None:
    """Jobs of one user, as a submission adds them."""
    jobs = [NewJob(ORG, "noop", f"{user}-{number}", POOL, key, user, 0, 1) for number in range(count)]
    async with engine.begin() as connection:
        await enqueue(connection, jobs)


async def take(connection: AsyncConnection, slots: int) -> Sequence[Claim]:
    return await claim(connection, worker_id=WORKER, pools=[POOL], slots=slots, memory_mb=MEMORY_MB)


async def complete(engine: AsyncEngine, held: Claim) -> None:
    async with engine.begin() as connection:
        await fence(connection, held)
        await finish(connection, held, "done")
