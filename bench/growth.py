"""How cost grows with what there is: trials, jobs, keys, users, workers, history."""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from sqlalchemy.ext.asyncio import AsyncEngine

from bench import history, queues, routes
from bench.claims import latencies
from bench.databases import KEY, api, database
from bench.figures import percentile
from bench.options import Options
from bench.progress import say
from bench.stacks import TASK, submit
from bench.table import markdown
from oddish import Client
from oddish.db.engine import connect
from oddish.queue.claim import Claim, claim

TRIALS = (10, 100, 1000)
JOBS = (1_000, 100_000, 1_000_000)
KEYS = (1, 50, 200)
USERS = (1, 20, 200)
WORKERS = (1, 2, 4)
HISTORY = (10_000, 100_000, 1_000_000)

POOL = "local@harbor/bench"
SLOTS = 4
UNLIMITED = 10_000


def growth(options: Options) -> str:
    """One table for each."""
    parts = (trials, jobs, keys, users, workers, finished)
    return "\n\n".join(part(options) for part in parts)


def trials(options: Options) -> str:
    """Trials of one submission over HTTP, then claimed and recorded as done by one worker that runs nothing."""
    lines = []
    for count in TRIALS:
        say(f"{count} trials")
        submitted, recorded = [], []
        with database() as where, api(where) as url, Client(url, KEY) as client:
            asyncio.run(queues.offer(where.url, pool=POOL))
            task_id = client.upload(TASK)["task_id"]
            for number in range(options.rounds(3)):
                began = time.perf_counter()
                submit(client, task_id, f"round-{number}", trials=count)
                submitted.append((time.perf_counter() - began) * 1000 / count)
                recorded.append(asyncio.run(drained(where.url, POOL)) * 1000 / count)
        cells = (f"{percentile(figures, 0.5):.2f} ms" for figures in (submitted, recorded))
        lines.append((f"{count:,}", *cells))
    return markdown(("trials submitted at once", "submission, each trial", "claim and outcome, each trial"), lines)


def jobs(options: Options) -> str:
    sizes = [options.size(count) for count in JOBS]
    return _claims("jobs queued (200 keys, 20 users)", sizes, options, lambda count: (200, 20, count))


def keys(options: Options) -> str:
    count = options.size(20_000)
    return _claims(f"keys ({count:,} jobs, 20 users)", KEYS, options, lambda keys: (keys, 20, count))


def users(options: Options) -> str:
    count = options.size(20_000)
    return _claims(f"users ({count:,} jobs, one key)", USERS, options, lambda users: (1, users, count))


def workers(options: Options) -> str:
    """Processes that claim and finish, on this machine, which the database shares with them."""
    count = 400 if options.quick else 4000
    lines = []
    for processes in WORKERS:
        say(f"{processes} workers")
        with database() as where:
            asyncio.run(_filled(where.url, keys=20, users=4, count=count))
            with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
                list(pool.map(_warm_up, range(processes)))
                began = time.monotonic()
                list(pool.map(partial(drain, where.url), [queues.POOL] * processes))
                seconds = time.monotonic() - began
        lines.append((str(processes), f"{count / seconds:.0f}", f"{seconds * 1000 / count:.2f} ms"))
    return markdown(("workers", "jobs/s", "each job"), lines)


def finished(options: Options) -> str:
    """Routes that read, while finished trials pile up."""
    columns: dict[str, list[str]] = {}
    before = 0
    sizes = [options.size(count) // history.TRIALS_PER_TASK * history.TRIALS_PER_TASK for count in HISTORY]
    with database() as where, api(where) as url:
        asyncio.run(queues.offer(where.url, pool=POOL))
        for count in sizes:
            say(f"{count} trials in the database")
            history.fill(where, before=before, trials=count)
            asyncio.run(history.keep_up(where, trials=count))
            before = count
            _, reads = routes.measured(where, url, trials=count, rounds=options.rounds(15, 3))
            names = history.names(count)
            for read in reads:
                template = read.path
                for name in ("trial_id", "task_id", "experiment_id"):
                    template = template.replace(names[name], f"{{{name}}}")
                figures = (percentile(read.milliseconds, share) for share in (0.5, 0.95))
                columns.setdefault(template, []).append(" / ".join(f"{figure:.0f}" for figure in figures))
    headings = ("p50 / p95 in ms, by trials in the database", *(f"{count:,}" for count in sizes))
    return markdown(headings, [(path, *cells) for path, cells in columns.items()])


def _claims(what: str, sizes: Sequence[int], options: Options, shape: Callable[[int], tuple[int, int, int]]) -> str:
    lines = []
    for size in sizes:
        say(f"{what}: {size}")
        keys, users, count = shape(size)
        with database() as where:
            found = asyncio.run(_latencies(where.url, keys, users, count, options.rounds(200, 20)))
        lines.append((f"{size:,}", *(f"{percentile(found, share):.2f} ms" for share in (0.5, 0.95, 0.99))))
    return markdown((what, "claim p50", "p95", "p99"), lines)


async def _latencies(url: str, keys: int, users: int, count: int, rounds: int) -> Sequence[float]:
    async with queues.queue(url, keys=keys, users=users, limit=UNLIMITED) as engine:
        await queues.fill(engine, keys=keys, users=users, jobs=count)
        return await latencies(engine, slots=1, rounds=rounds)


async def _filled(url: str, *, keys: int, users: int, count: int) -> None:
    async with queues.queue(url, keys=keys, users=users, limit=UNLIMITED) as engine:
        await queues.fill(engine, keys=keys, users=users, jobs=count)


def _warm_up(_: int) -> None:
    """Imports what a process needs."""


def drain(url: str, pool: str) -> None:
    asyncio.run(drained(url, pool))


async def drained(url: str, pool: str) -> float:
    """Claim and finish what is queued, ``SLOTS`` at a time; seconds that it took."""
    engine = connect(url, role="bench", pool_size=SLOTS)
    began = time.monotonic()
    while held := await _claim(engine, pool):
        await asyncio.gather(*(queues.complete(engine, one) for one in held))
    seconds = time.monotonic() - began
    await engine.dispose()
    return seconds


async def _claim(engine: AsyncEngine, pool: str) -> Sequence[Claim]:
    async with engine.begin() as connection:
        return await claim(connection, worker_id=queues.WORKER, pools=[pool], slots=SLOTS, memory_mb=queues.MEMORY_MB)
