"""Figures of the queue alone, on a PostgreSQL of its own: ``scripts/bench queue [ROW]...``.

claim      latency of one claim with a deep backlog over 200 keys, 190 of them at their limit
claimers   16 claimers at limits of 3 on 20 keys: claims a second, empty answers, violations seen by a watcher
fairness   one user floods, three arrive later with a few jobs each: who was served when

Every job is a no-op: it is finished as soon as it is claimed. With pgqueuer installed, ``claim`` measures its dequeue
on the same server, with the same keys and backlog, as a peer.
"""

import argparse
import asyncio
import importlib.util
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

import oddish.db
from oddish.db.engine import connect
from oddish.queue.claim import Claim, claim
from oddish.queue.enqueue import Lane, NewJob, enqueue, prepare_lanes
from oddish.queue.finish import fence, finish
from oddish.queue.keys import Limits
from oddish.queue.lease import Worker, register
from oddish.stack.postgres import EmbeddedPostgres

ORG = "bench"
POOL = "noop@bench"
KEYS = 200
LANES = 20
LONG = 10**9

FILL = """
INSERT INTO jobs (org_id, kind, subject_id, pool, key, lane, priority, max_attempts, state)
SELECT :org, 'noop', 's' || i, :pool, 'p/' || (i % :keys), 'u' || (i / :keys % :lanes), 0, 1, 'ready'
FROM generate_series(1, :jobs) AS i
"""

MISCOUNTED = """
SELECT count(*) FROM queue_keys k
WHERE running <> (SELECT count(*) FROM jobs j WHERE j.key = k.key AND state = 'running')
"""


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def row(name: str, **figures: object) -> None:
    shown = "  ".join(
        f"{key} {value:.2f}" if isinstance(value, float) else f"{key} {value}" for key, value in figures.items()
    )
    print(f"{name:<28}{shown}", flush=True)


async def prepared(engine: AsyncEngine, *, keys: int, lanes: int, limit: int) -> None:
    async with engine.begin() as connection:
        await connection.execute(text("TRUNCATE organisations, queue_keys, queue_caps, workers CASCADE"))
        await connection.execute(text("INSERT INTO organisations (id, name) VALUES (:id, :id)"), {"id": ORG})
        worker = Worker("bench", "host", 1, "0", [POOL], cpus=2, memory_mb=1024, concurrency=64)
        await register(connection, worker, [], lease_seconds=LONG)
    wanted = [Lane(f"p/{key}", f"u{lane}", "p", ORG) for key in range(keys) for lane in range(lanes)]
    await prepare_lanes(engine, wanted, Limits(limit, limit, {}))


async def vacuum(engine: AsyncEngine) -> None:
    async with engine.connect() as plain:
        connection = await plain.execution_options(isolation_level="AUTOCOMMIT")
        await connection.execute(text("SET statement_timeout = 0"))
        for table in ("jobs", "queue_keys", "queue_lanes"):
            await connection.execute(text(f"VACUUM ANALYZE {table}"))


async def take(connection: AsyncConnection, slots: int) -> list[Claim]:
    return await claim(connection, worker_id="bench", pools=[POOL], slots=slots, memory_mb=1024)


async def claim_latency(engine: AsyncEngine, *, jobs: int, rounds: int) -> None:
    await prepared(engine, keys=KEYS, lanes=LANES, limit=4)
    async with engine.begin() as connection:
        await connection.execute(text("SET LOCAL statement_timeout = 0"))
        await connection.execute(text(FILL), {"org": ORG, "pool": POOL, "keys": KEYS, "lanes": LANES, "jobs": jobs})
    await vacuum(engine)
    situations = {"all keys open": 0, "190 of 200 keys full": 190, "all keys full": KEYS}
    for name, full in situations.items():
        async with engine.begin() as connection:
            await connection.execute(
                text("UPDATE queue_keys SET running = CASE WHEN substr(key, 3)::int < :full THEN 4 ELSE 0 END"),
                {"full": full},
            )
        for slots in (1, 8):
            latencies, found = [], 0
            for _ in range(rounds):
                async with engine.connect() as connection:
                    began = time.perf_counter()
                    found += len(await take(connection, slots))
                    latencies.append((time.perf_counter() - began) * 1000)
                    await connection.rollback()
            row(
                f"claim, {name}",
                jobs=jobs,
                slots=slots,
                claimed=found / rounds,
                p50_ms=percentile(latencies, 0.5),
                p95_ms=percentile(latencies, 0.95),
                p99_ms=percentile(latencies, 0.99),
            )
    async with engine.begin() as connection:
        await connection.execute(text("UPDATE queue_keys SET running = 0"))


async def claimers(engine: AsyncEngine, *, seconds: float, count: int = 16, keys: int = 20, limit: int = 3) -> None:
    await prepared(engine, keys=keys, lanes=2, limit=limit)
    ends = time.monotonic() + seconds
    counts: Counter[str] = Counter()

    async def feed() -> None:
        serial = 0
        while time.monotonic() < ends:
            async with engine.begin() as connection:
                waiting = await connection.scalar(text("SELECT count(*) FROM jobs WHERE state = 'ready'"))
                if waiting < 4000:
                    batch = [
                        NewJob(ORG, "noop", f"n{serial + i}", POOL, f"p/{i % keys}", f"u{i // keys % 2}", 0, 1)
                        for i in range(2000)
                    ]
                    serial += len(batch)
                    await enqueue(connection, batch)
            await asyncio.sleep(0.1)

    async def work() -> None:
        while time.monotonic() < ends:
            async with engine.begin() as connection:
                held = await take(connection, 2)
            counts["claims" if held else "empty"] += len(held) or 1
            for one in held:
                async with engine.begin() as connection:
                    await fence(connection, one)
                    await finish(connection, one, "done")

    async def watch() -> None:
        statement = text(
            "SELECT count(*) FROM (SELECT FROM jobs WHERE state = 'running' GROUP BY key HAVING count(*) > :limit) over"
        )
        async with engine.connect() as plain:
            connection = await plain.execution_options(isolation_level="AUTOCOMMIT")
            while time.monotonic() < ends:
                counts["violations"] += await connection.scalar(statement, {"limit": limit}) or 0
                counts["samples"] += 1
                await asyncio.sleep(0.005)

    await asyncio.gather(feed(), watch(), *(work() for _ in range(count)))
    async with engine.connect() as connection:
        drift = await connection.scalar(text(MISCOUNTED))
    row(
        f"{count} claimers",
        seconds=seconds,
        keys=keys,
        limit=limit,
        claims_per_s=counts["claims"] / seconds,
        empty=counts["empty"],
        violations=counts["violations"],
        samples=counts["samples"],
        counters_off=drift,
    )


async def fairness(
    engine: AsyncEngine, *, flood: int = 5000, few: int = 20, slots: int = 8, work_ms: float = 5
) -> None:
    await prepared(engine, keys=1, lanes=4, limit=slots)
    waits: defaultdict[str, list[float]] = defaultdict(list)
    served: list[str] = []
    arrived: dict[str, float] = {}

    async def add(user: str, count: int) -> None:
        async with engine.begin() as connection:
            await enqueue(
                connection, [NewJob(ORG, "noop", f"{user}-{i}", POOL, "p/0", user, 0, 1) for i in range(count)]
            )
        arrived[user] = time.monotonic()

    async def work() -> None:
        while not all(len(waits[user]) == few for user in ("u1", "u2", "u3")):
            async with engine.begin() as connection:
                held = await take(connection, 1)
            for one in held:
                user = one.subject_id.partition("-")[0]
                waits[user].append(time.monotonic() - arrived[user])
                if "u3" in arrived:
                    served.append(user)
                await asyncio.sleep(work_ms / 1000)
                async with engine.begin() as connection:
                    await fence(connection, one)
                    await finish(connection, one, "done")

    await add("u0", flood)
    workers = [asyncio.create_task(work()) for _ in range(slots)]
    while len(waits["u0"]) < 100:  # noqa: ASYNC110 - counted by the workers
        await asyncio.sleep(0.01)
    for user in ("u1", "u2", "u3"):
        await add(user, few)
    await asyncio.gather(*workers)
    contended = served[: 4 * few]
    for user in ("u0", "u1", "u2", "u3"):
        figures: dict[str, object] = {"share_while_contended": contended.count(user) / len(contended)}
        if user != "u0":
            figures |= {"median_wait_s": statistics.median(waits[user]), "longest_wait_s": max(waits[user])}
        row(f"fairness, {'flood of ' + str(flood) if user == 'u0' else str(few) + ' jobs of ' + user}", **figures)


async def peer(url: str, *, jobs: int) -> None:
    """pgqueuer's dequeue of one job over 200 entrypoints limited to 4, 190 of them at their limit."""
    if importlib.util.find_spec("pgqueuer") is None or importlib.util.find_spec("asyncpg") is None:
        row("peer pgqueuer", skipped="pgqueuer and asyncpg are not installed")
        return
    import asyncpg
    from pgqueuer.db import AsyncpgDriver
    from pgqueuer.ports.repository import EntrypointExecutionParameter
    from pgqueuer.queries import Queries

    connection = await asyncpg.connect(url.replace("+psycopg", "", 1))
    queries = Queries(AsyncpgDriver(connection))
    await queries.install()
    for offset in range(0, jobs, 50_000):
        names = [f"p{number % KEYS}" for number in range(offset, min(offset + 50_000, jobs))]
        await queries.enqueue(names, [None] * len(names), [0] * len(names))
    await connection.execute("VACUUM ANALYZE pgqueuer")
    limits = {f"p{key}": EntrypointExecutionParameter(concurrency_limit=4) for key in range(KEYS)}
    full = {name: limit for name, limit in limits.items() if int(name[1:]) < 190}

    async def dequeue(entrypoints: dict[str, EntrypointExecutionParameter], batch: int) -> int:
        taken = await queries.dequeue(
            batch_size=batch,
            entrypoints=entrypoints,
            queue_manager_id=uuid4(),
            global_concurrency_limit=None,
            heartbeat_timeout=timedelta(hours=1),
        )
        return len(taken)

    while await dequeue(full, 190):
        pass
    latencies = []
    for _ in range(4 * (KEYS - len(full))):
        began = time.perf_counter()
        taken = await dequeue(limits, 1)
        latencies.append((time.perf_counter() - began) * 1000)
        assert taken == 1
    row("peer pgqueuer, 190 full", jobs=jobs, p50_ms=percentile(latencies, 0.5), p95_ms=percentile(latencies, 0.95))
    await connection.close()


async def measured(url: str, wanted: Sequence[str], *, jobs: int, seconds: float, rounds: int) -> None:
    engine = connect(url, role="bench", pool_size=24)
    rows: dict[str, Callable[[], Awaitable[None]]] = {
        "claim": lambda: claim_latency(engine, jobs=jobs, rounds=rounds),
        "peer": lambda: peer(url, jobs=jobs),
        "claimers": lambda: claimers(engine, seconds=seconds),
        "fairness": lambda: fairness(engine),
    }
    for name in wanted or rows:
        await rows[name]()
    await engine.dispose()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", choices=["claim", "peer", "claimers", "fairness", []])
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--rounds", type=int, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="oddish-bench-") as directory, EmbeddedPostgres(Path(directory)) as server:
        url = server.url()
        oddish.db.upgrade(url)
        asyncio.run(measured(url, options.rows, jobs=options.jobs, seconds=options.seconds, rounds=options.rounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
