"""Many claimers at once on keys with small limits: claims a second, and whether a limit is ever exceeded."""

import asyncio
import time
from collections import Counter

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from bench import queues
from bench.databases import database
from bench.options import Options
from bench.table import markdown
from oddish.queue.enqueue import NewJob, enqueue

CLAIMERS, KEYS, USERS, LIMIT = 16, 20, 2, 3
BATCH, ENOUGH = 2000, 4000

OVER = """
SELECT count(*) FROM (SELECT FROM jobs WHERE state = 'running' GROUP BY key HAVING count(*) > :limit) over
"""
MISCOUNTED = """
SELECT count(*) FROM queue_keys k
WHERE running <> (SELECT count(*) FROM jobs j WHERE j.key = k.key AND state = 'running')
"""


def claimers(options: Options) -> str:
    """A table of what happened."""
    seconds = options.rounds(30, 3)
    with database() as where:
        counts = asyncio.run(counted(where.url, seconds))
    lines = [("claimers", str(CLAIMERS)), ("keys", str(KEYS)), ("limit of each", str(LIMIT))]
    lines += [("claims/s", f"{counts['claims'] / seconds:.0f}")]
    lines += [(name, str(counts[name])) for name in ("empty answers", "looks", "limits exceeded", "counters off")]
    return markdown(("what", "figure"), lines)


async def counted(url: str, seconds: float) -> Counter[str]:
    counts: Counter[str] = Counter()
    async with queues.queue(url, keys=KEYS, users=USERS, limit=LIMIT) as engine:
        ends = time.monotonic() + seconds
        workers = (_work(engine, ends, counts) for _ in range(CLAIMERS))
        await asyncio.gather(_feed(engine, ends), _watch(engine, ends, counts), *workers)
        async with engine.connect() as connection:
            counts["counters off"] = await connection.scalar(text(MISCOUNTED)) or 0
    return counts


async def _feed(engine: AsyncEngine, ends: float) -> None:
    serial = 0
    while time.monotonic() < ends:
        async with engine.begin() as connection:
            waiting = await connection.scalar(text("SELECT count(*) FROM jobs WHERE state = 'ready'")) or 0
            if waiting < ENOUGH:
                numbers = range(serial, serial + BATCH)
                serial += BATCH
                await enqueue(connection, [_job(number) for number in numbers])
        await asyncio.sleep(0.1)


def _job(number: int) -> NewJob:
    key, user = f"p/{number % KEYS}", f"u{number // KEYS % USERS}"
    return NewJob(queues.ORG, "noop", f"n{number}", queues.POOL, key, user, 0, 1)


async def _work(engine: AsyncEngine, ends: float, counts: Counter[str]) -> None:
    while time.monotonic() < ends:
        async with engine.begin() as connection:
            held = await queues.take(connection, 2)
        counts["claims"] += len(held)
        counts["empty answers"] += not held
        for one in held:
            await queues.complete(engine, one)


async def _watch(engine: AsyncEngine, ends: float, counts: Counter[str]) -> None:
    async with engine.connect() as plain:
        connection = await plain.execution_options(isolation_level="AUTOCOMMIT")
        while time.monotonic() < ends:
            counts["limits exceeded"] += await connection.scalar(text(OVER), {"limit": LIMIT}) or 0
            counts["looks"] += 1
            await asyncio.sleep(0.005)
