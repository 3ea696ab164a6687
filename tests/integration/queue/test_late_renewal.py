"""A lease that ended, as it does while a machine sleeps, is renewed as long as nobody has taken its worker's jobs."""

import pytest

from oddish.queue.lease import Owned, renew, retire
from oddish.queue.reap import reap
from support.queues import Queue

pytestmark = pytest.mark.anyio


async def late(queue: Queue) -> None:
    await queue.execute("UPDATE workers SET lease_until = now() - interval '1 hour' WHERE id = 'w'")


async def renewed(queue: Queue) -> list[Owned] | None:
    async with queue.engine.begin() as connection:
        return await renew(connection, "w", lease_seconds=30)


async def test_a_worker_that_slept_keeps_its_jobs(queue: Queue) -> None:
    await queue.add("a")
    [held] = await queue.claim()
    await late(queue)
    mine = await renewed(queue)
    assert mine is not None
    assert [(entry.id, entry.epoch) for entry in mine] == [(held.id, held.epoch)]
    await queue.worker("v")
    async with queue.engine.begin() as connection:
        assert await reap(connection) == 0
    await queue.finish(held)
    assert await queue.states() == {"a": "done"}


async def test_a_worker_whose_jobs_were_taken_while_it_slept_is_dead(queue: Queue) -> None:
    await queue.add("a")
    await queue.claim()
    await late(queue)
    await queue.worker("v")
    async with queue.engine.begin() as connection:
        assert await reap(connection) == 1
    assert await renewed(queue) is None


async def test_a_worker_that_has_retired_is_not_brought_back_by_its_jobs(queue: Queue) -> None:
    await queue.add("a")
    await queue.claim()
    async with queue.engine.begin() as connection:
        await retire(connection, "w")
    assert await renewed(queue) is None
