"""What a job is charged for: executions that reported, however it ends."""

import pytest

from oddish.queue.policy import MAX_LOSSES
from oddish.queue.reap import lose, release
from support.queues import Queue

pytestmark = pytest.mark.anyio

CHARGES = "SELECT state, attempt, losses FROM jobs"


async def test_a_job_that_loses_its_last_worker_is_charged_for_none_of_them(queue: Queue) -> None:
    await queue.add("unlucky")
    for _ in range(MAX_LOSSES):
        [held] = await queue.claim()
        async with queue.engine.begin() as connection:
            await lose(connection, held)
        await queue.execute("UPDATE jobs SET run_at = now() WHERE state = 'scheduled'")
        await queue.promote()
    assert await queue.rows(CHARGES) == [("failed", 0, MAX_LOSSES)]


async def test_a_job_that_is_cancelled_while_its_worker_dies_is_not_charged(queue: Queue) -> None:
    await queue.add("unwanted")
    [held] = await queue.claim()
    await queue.cancel("unwanted")
    async with queue.engine.begin() as connection:
        await lose(connection, held)
    assert await queue.rows(CHARGES) == [("cancelled", 0, 1)]


async def test_a_job_that_is_cancelled_while_its_worker_stops_is_not_charged(queue: Queue) -> None:
    await queue.add("unwanted")
    [held] = await queue.claim()
    await queue.cancel("unwanted")
    async with queue.engine.begin() as connection:
        await release(connection, held)
    assert await queue.rows(CHARGES) == [("cancelled", 0, 0)]
