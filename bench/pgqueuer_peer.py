"""pgqueuer as a peer, in a process and with an interpreter of its own: needs pgqueuer and asyncpg, nothing of oddish.

    python pgqueuer_peer.py URL

Reads one command a line and answers each with one line of JSON.

    install                     makes its tables
    fill JOBS KEYS LIMIT FULL   queues JOBS over KEYS entrypoints, FULL of which are at LIMIT
    dequeue ROUNDS              milliseconds of each of ROUNDS dequeues of one job, rolled back afterwards
    idle SECONDS                runs a worker for that long
"""

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import Mapping
from datetime import timedelta
from uuid import uuid4

import asyncpg
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.ports.repository import EntrypointExecutionParameter
from pgqueuer.queries import Queries

type Limits = Mapping[str, EntrypointExecutionParameter]


class Peer:
    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection
        self._driver = AsyncpgDriver(connection)
        self._queries = Queries(self._driver)
        self._limits: Limits = {}

    async def install(self) -> None:
        await self._queries.install()

    async def fill(self, jobs: int, keys: int, limit: int, full: int) -> int:
        for offset in range(0, jobs, 50_000):
            names = [f"p{number % keys}" for number in range(offset, min(offset + 50_000, jobs))]
            await self._queries.enqueue(names, [None] * len(names), [0] * len(names))
        await self._connection.execute("VACUUM ANALYZE pgqueuer")
        self._limits = {f"p{key}": EntrypointExecutionParameter(concurrency_limit=limit) for key in range(keys)}
        filling = {name: self._limits[name] for name in list(self._limits)[:full]}
        taken = 0
        while filling and (found := await self._dequeue(filling, full)):
            taken += found
        return taken

    async def dequeue(self, rounds: int) -> list[float]:
        latencies = []
        for _ in range(rounds):
            transaction = self._connection.transaction()
            await transaction.start()
            began = time.perf_counter()
            found = await self._dequeue(self._limits, 1)
            latencies.append((time.perf_counter() - began) * 1000)
            await transaction.rollback()
            if found != 1:
                raise RuntimeError("nothing was dequeued")
        return latencies

    async def idle(self, seconds: float) -> float:
        worker = PgQueuer(self._driver)

        @worker.entrypoint("noop")
        async def noop(job: object) -> None:
            """Is never called."""

        running = asyncio.create_task(worker.run())
        await asyncio.sleep(seconds)
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
        return seconds

    async def _dequeue(self, limits: Limits, batch: int) -> int:
        jobs = await self._queries.dequeue(
            batch_size=batch,
            entrypoints=dict(limits),
            queue_manager_id=uuid4(),
            global_concurrency_limit=None,
            heartbeat_timeout=timedelta(hours=1),
        )
        return len(jobs)


async def main(url: str) -> None:
    peer = Peer(await asyncpg.connect(url))
    print(json.dumps("ready"), flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        name, *numbers = line.split()
        answer = await getattr(peer, name)(*map(int, numbers))
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
