"""Groups release their jobs a few at a time, and in turn."""

import pytest

from oddish.queue.schedule import release_groups
from support.queues import Queue

pytestmark = pytest.mark.anyio


async def waiting(queue: Queue, state: str) -> set[str]:
    return {subject for subject, found in (await queue.states()).items() if found == state}


async def test_a_group_releases_as_many_as_it_may_run(queue: Queue) -> None:
    await queue.group("g", max_running=2)
    await queue.add("a", "b", "c", "d", group="g")
    assert await waiting(queue, "ready") == {"a", "b"}
    assert await waiting(queue, "held") == {"c", "d"}


async def test_an_end_makes_room_for_the_next(queue: Queue) -> None:
    await queue.group("g", max_running=1)
    await queue.add("a", "b", "c", group="g")
    [held] = await queue.claim()
    await queue.finish(held, "failed")
    assert await queue.states() == {"a": "failed", "b": "ready", "c": "held"}
    await queue.cancel("b")
    assert await queue.states() == {"a": "failed", "b": "cancelled", "c": "ready"}


async def test_a_job_that_waits_to_run_again_keeps_its_place(queue: Queue) -> None:
    await queue.group("g", max_running=1)
    await queue.add("a", "b", group="g")
    await queue.retry((await queue.claim())[0], delay_seconds=60)
    assert await queue.states() == {"a": "scheduled", "b": "held"}


async def test_a_group_without_a_limit_releases_all(queue: Queue) -> None:
    await queue.group("g")
    await queue.add("a", "b", "c", group="g")
    assert await waiting(queue, "ready") == {"a", "b", "c"}


async def test_a_group_waits_for_the_end_of_the_one_before(queue: Queue) -> None:
    await queue.group("baseline")
    await queue.group("models", after="baseline", max_running=1)
    await queue.add("nop", "oracle", group="baseline", user="x")
    await queue.add("m1", "m2", group="models")
    first, second = [*await queue.claim(), *await queue.claim()]
    await queue.finish(first)
    assert await waiting(queue, "held") == {"m1", "m2"}
    await queue.finish(second, "failed")
    assert await waiting(queue, "ready") == {"m1"}


async def test_a_group_after_one_that_has_ended_begins_at_once(queue: Queue) -> None:
    await queue.group("before")
    await queue.group("after", after="before")
    await queue.add("a", group="after")
    assert await waiting(queue, "ready") == {"a"}


async def test_cancelling_a_whole_group_frees_the_next(queue: Queue) -> None:
    await queue.group("before", max_running=1)
    await queue.group("after", after="before")
    await queue.add("a", "b", "c", group="before")
    await queue.add("d", group="after")
    await queue.cancel("a", "b", "c")
    assert await waiting(queue, "ready") == {"d"}


async def test_room_that_was_left_unused_is_found(queue: Queue) -> None:
    await queue.group("g", max_running=1)
    await queue.add("a", "b", group="g")
    await queue.execute("ALTER TABLE jobs DISABLE TRIGGER jobs_release_groups")
    await queue.cancel("a")
    await queue.execute("ALTER TABLE jobs ENABLE TRIGGER jobs_release_groups")
    async with queue.engine.begin() as connection:
        assert await release_groups(connection) == 1
    assert await waiting(queue, "ready") == {"b"}
