"""The row about the queue: one claim while nearly everything that waits may not run."""

import asyncio
import time
from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncEngine

from bench import queues
from bench.databases import Database, database
from bench.figures import Figures
from bench.options import Options
from bench.peers import Peer, PeerMissing, pgqueuer
from bench.progress import say

JOBS, KEYS, USERS, LIMIT, FULL = 1_000_000, 200, 20, 4, 190
BLOCKS = 10
"""Times that ours and the peer take turns."""


def claim(options: Options) -> Figures:
    with database() as where:
        other = where.other("pgqueuer")
        try:
            with pgqueuer(options, other) as peer:
                return asyncio.run(measured(where, options, peer))
        except PeerMissing as reason:
            figures = asyncio.run(measured(where, options, None))
            return Figures(figures.ours, missing=f"no peer, pgqueuer does not run: {reason}", details=figures.details)


async def measured(where: Database, options: Options, peer: Peer | None) -> Figures:
    jobs = options.size(JOBS)
    if peer:
        say(f"queueing {jobs} jobs with pgqueuer")
        await asyncio.to_thread(peer.ask, "install")
        await asyncio.to_thread(peer.ask, "fill", jobs, KEYS, LIMIT, FULL)
    say(f"queueing {jobs} jobs")
    async with queues.queue(where.url, keys=KEYS, users=USERS, limit=LIMIT) as engine:
        await queues.fill(engine, keys=KEYS, users=USERS, jobs=jobs)
        await queues.occupy(engine, full=FULL, limit=LIMIT)
        ours: list[float] = []
        theirs: list[float] = []
        say("claiming by turns")
        for _ in range(options.rounds(BLOCKS)):
            ours += await latencies(engine, slots=1, rounds=options.rounds(60, 20))
            if peer:
                theirs += await asyncio.to_thread(peer.ask, "dequeue", options.rounds(60, 20))
        details = {"eight slots at once": await latencies(engine, slots=8, rounds=options.rounds(200, 20))}
        for name, full in (("no key at its limit", 0), ("every key at its limit", KEYS)):
            await queues.occupy(engine, full=full, limit=LIMIT)
            details[name] = await latencies(engine, slots=1, rounds=options.rounds(200, 20))
    return Figures(ours, theirs, details=details)


async def latencies(engine: AsyncEngine, *, slots: int, rounds: int) -> Sequence[float]:
    """Milliseconds of claims that are rolled back, so that each finds the same queue."""
    found = []
    async with engine.connect() as connection:
        for _ in range(rounds):
            began = time.perf_counter()
            await queues.take(connection, slots)
            found.append((time.perf_counter() - began) * 1000)
            await connection.rollback()
    return found
