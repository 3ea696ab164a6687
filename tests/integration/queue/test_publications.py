"""What workers say of the pools that they offer, when not all of them offer the same."""

import pytest

from oddish.queue.lease import Publication, Worker, register, retire
from support.queues import Queue

pytestmark = pytest.mark.anyio

POOL = "docker@harbor"


async def start(queue: Queue, worker_id: str, *, reason: str | None = None) -> None:
    """A worker that offers the pool, or says why it does not."""
    pools = [POOL] if reason is None else []
    worker = Worker(worker_id, "host", 1, "0", pools, cpus=2, memory_mb=4096, concurrency=4)
    publication = Publication(POOL, "docker", "harbor", 0, [], reason=reason)
    async with queue.engine.begin() as connection:
        await register(connection, worker, [publication], lease_seconds=30)


async def published(queue: Queue) -> list[tuple]:
    return await queue.rows("SELECT worker_id, reason FROM publications WHERE pool = :pool", pool=POOL)


async def test_a_worker_without_the_environment_does_not_take_it_from_one_that_has_it(queue: Queue) -> None:
    await start(queue, "with")
    await start(queue, "without", reason="there is no engine")
    assert await published(queue) == [("with", None)]


async def test_a_reason_is_published_when_nobody_else_offers_the_environment(queue: Queue) -> None:
    await start(queue, "with")
    async with queue.engine.begin() as connection:
        await retire(connection, "with")
    await start(queue, "without", reason="there is no engine")
    assert await published(queue) == [("without", "there is no engine")]
    await start(queue, "with again")
    assert await published(queue) == [("with again", None)]


async def test_a_reason_is_published_over_a_worker_that_stopped_answering(queue: Queue) -> None:
    await start(queue, "with")
    await queue.pass_time(60)
    await start(queue, "without", reason="there is no engine")
    assert await published(queue) == [("without", "there is no engine")]


async def test_a_worker_that_was_not_told_of_its_registration_registers_again(queue: Queue) -> None:
    await start(queue, "unsure")
    await start(queue, "unsure")
    assert await queue.rows("SELECT count(*) FROM workers WHERE id = 'unsure'") == [(1,)]
    assert await published(queue) == [("unsure", None)]
