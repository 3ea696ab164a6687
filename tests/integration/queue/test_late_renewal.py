"""A lease that ended, as it does while a machine sleeps, is renewed as long as nobody has taken its worker's jobs."""

import asyncio

import pytest

from oddish.queue.lease import Owned, renew, retire
from oddish.queue.reap import reap
from support.queues import Queue

pytestmark = pytest.mark.anyio

WAITING = """
SELECT FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%UPDATE workers%'
"""


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


async def test_a_renewal_that_waited_for_the_reaper_comes_too_late(queue: Queue) -> None:
    await queue.add("a")
    await queue.claim()
    await late(queue)
    await queue.worker("v")
    async with queue.engine.begin() as connection:
        assert await reap(connection) == 1
        renewal = asyncio.create_task(renewed(queue))
        while not await queue.rows(WAITING):
            assert not renewal.done()
    assert await renewal is None


async def test_a_worker_that_has_retired_is_not_brought_back_by_its_jobs(queue: Queue) -> None:
    await queue.add("a")
    await queue.claim()
    async with queue.engine.begin() as connection:
        await retire(connection, "w")
    assert await renewed(queue) is None
