"""What no job has needed for a while goes, and nobody who comes back meanwhile is refused."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.queue.archive import STAYS_SECONDS
from oddish.queue.enqueue import PREPARE_KEYS, Group, Lane, NewJob, add_group, enqueue, prepare_lanes
from oddish.queue.keys import Limits
from oddish.queue.limits import list_caps, override_cap, override_key, pause_key, reset_cap, reset_key
from oddish.queue.pruning import (
    GONE_SECONDS,
    UNUSED_SECONDS,
    Pruned,
    prune,
    prune_caps,
    prune_keys,
    prune_lanes,
)
from support.queues import ORG, POOL, Queue

pytestmark = pytest.mark.anyio

LONG = UNUSED_SECONDS + 1
KEYS = ("p/a", "p/b", "q/c")


async def lanes(queue: Queue) -> list[tuple]:
    return await queue.rows("SELECT key, lane FROM queue_lanes ORDER BY key, lane")


async def finished(queue: Queue, *subjects: str, key: str = "p/m") -> None:
    await queue.add(*subjects, key=key)
    await queue.cancel(*subjects)
    await queue.pass_time(STAYS_SECONDS + 1)
    await queue.archive()


async def unused_key(queue: Queue) -> None:
    """Jobs and lanes have gone, the key and its caps are still there."""
    await finished(queue, "a")
    await queue.pass_time(LONG)
    async with queue.engine.begin() as connection:
        await prune_lanes(connection)


async def names(queue: Queue) -> list[str]:
    keys = await queue.rows("SELECT key FROM queue_keys ORDER BY key")
    return [name for (name,) in [*keys, *await queue.rows("SELECT name FROM queue_caps ORDER BY name")]]


async def wanted_and_waited_for(queue: Queue) -> asyncio.Task[None]:
    """Somebody who wants the lane of ``finished`` and has to wait for another transaction."""
    wanting = asyncio.create_task(prepare_lanes(queue.engine, [Lane("p/m", "u", "p", ORG)], queue.limits))
    waiting = [(0,)]
    while waiting == [(0,)] and not wanting.done():
        waiting = await queue.rows(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
    assert not wanting.done()
    return wanting


def job(key: str, user: str, subject: str) -> NewJob:
    return NewJob(ORG, "noop", subject, POOL, key, user, 0, 1)


async def test_a_lane_goes_an_hour_after_its_last_job(queue: Queue) -> None:
    await finished(queue, "a")
    assert (await prune(queue.engine)).lanes == 0
    await queue.pass_time(LONG)
    assert (await prune(queue.engine)).lanes == 1
    assert await lanes(queue) == []


@pytest.mark.parametrize("state", ["ready", "running", "scheduled", "held", "ended"])
async def test_a_lane_with_a_job_stays(queue: Queue, state: str) -> None:
    await queue.group("first")
    await queue.group("second", after="first")
    await queue.add("before", key="p/other", group="first")
    await queue.add("a", group="second" if state == "held" else None)
    if state == "ended":
        await queue.cancel("a")
    elif state in ("running", "scheduled"):
        held = next(claim for claim in await queue.claim() if claim.subject_id == "a")
        if state == "scheduled":
            await queue.retry(held, delay_seconds=10 * LONG)
    await queue.pass_time(LONG, leases=False)
    assert (await prune(queue.engine)).lanes == 0
    assert ("p/m", "u") in await lanes(queue)


async def test_a_lane_that_was_just_wanted_stays_for_its_jobs(queue: Queue) -> None:
    await finished(queue, "a")
    await queue.pass_time(LONG)
    await prepare_lanes(queue.engine, [Lane("p/m", "u", "p", ORG)], queue.limits)
    assert (await prune(queue.engine)).lanes == 0
    async with queue.engine.begin() as connection:
        await enqueue(connection, [job("p/m", "u", "b")])
    assert len(await queue.claim()) == 1


async def test_jobs_that_are_being_added_keep_their_lane(queue: Queue) -> None:
    await finished(queue, "a")
    await queue.pass_time(LONG)
    async with queue.engine.begin() as connection:
        await enqueue(connection, [job("p/m", "u", "b")])
        assert (await prune(queue.engine)).lanes == 0
    assert len(await queue.claim()) == 1


async def test_who_wants_a_lane_that_is_being_pruned_makes_it_anew(queue: Queue) -> None:
    await finished(queue, "a")
    await queue.pass_time(LONG)
    async with queue.engine.begin() as pruner:
        assert await prune_lanes(pruner) == 1
        wanting = await wanted_and_waited_for(queue)
    await wanting
    assert await lanes(queue) == [("p/m", "u")]
    await queue.add("b")
    assert len(await queue.claim()) == 1


@pytest.mark.parametrize("step", [prune_keys, prune_caps])
async def test_who_wants_a_key_or_a_cap_that_is_being_pruned_makes_it_anew(
    queue: Queue, step: Callable[[AsyncConnection], Awaitable[int]]
) -> None:
    await unused_key(queue)
    async with queue.engine.begin() as pruner:
        assert await step(pruner) > 0
        wanting = await wanted_and_waited_for(queue)
    await wanting
    assert await names(queue) == ["p/m", f"org:{ORG}", "provider:p"]
    assert (await prune(queue.engine)).keys == 0
    await queue.add("b")
    assert len(await queue.claim()) == 1
    assert await queue.miscounted() == []


async def test_a_key_whose_lanes_are_being_made_stays(queue: Queue) -> None:
    await unused_key(queue)
    async with queue.engine.begin() as connection:
        prepared = {"keys": ["p/m"], "limits": [queue.limits.of("p/m")], "authoritative": True}
        await connection.execute(text(PREPARE_KEYS), prepared)
        assert (await prune(queue.engine)).keys == 0
    assert (await prune(queue.engine)).keys == 1


async def test_keys_and_caps_of_providers_go_with_their_lanes_unless_an_admin_has_changed_them(queue: Queue) -> None:
    for key in ("p/m", "q/limited", "r/paused"):
        await queue.add(key, key=key)
    await queue.cancel("p/m", "q/limited", "r/paused")
    async with queue.engine.begin() as connection:
        await override_key(connection, "q/limited", 0, deploy_limit=3)
        await override_cap(connection, "provider:q", 5)
        await pause_key(connection, "r/paused", paused=True)
    await queue.pass_time(STAYS_SECONDS + 1)
    await queue.archive()
    assert (await prune(queue.engine)).keys == 0
    await queue.pass_time(LONG)
    assert (await prune(queue.engine)).keys == 1
    assert await names(queue) == ["q/limited", "r/paused", "provider:q"]
    async with queue.engine.begin() as connection:
        await reset_key(connection, "q/limited")
        await reset_cap(connection, "provider:q")
        await pause_key(connection, "r/paused", paused=False)
    pruned = await prune(queue.engine)
    assert (pruned.keys, pruned.caps) == (2, 1)


async def test_nobody_is_refused_while_lanes_come_and_go(queue: Queue) -> None:
    """Users let hours go by between two jobs, and jobs end at once, so that every lane is pruned again and again."""
    pruned = pruned_keys = 0
    ended = asyncio.Event()

    async def user(name: str) -> None:
        for turn in range(30):
            await queue.execute(
                "UPDATE queue_lanes SET touched_at = touched_at - interval '2 hours', last_claim = 'epoch' "
                "WHERE lane = :name",
                name=name,
            )
            await queue.add(f"{name}-{turn}", key=KEYS[turn % len(KEYS)], user=name)
            for held in await queue.claim(slots=2):
                await queue.finish(held)

    async def upkeep() -> None:
        nonlocal pruned, pruned_keys
        while not ended.is_set():
            await queue.execute("UPDATE jobs SET finished_at = finished_at - interval '1 hour' WHERE state = 'done'")
            await queue.archive()
            found = await prune(queue.engine)
            pruned += found.lanes
            pruned_keys += found.keys

    async def users() -> None:
        try:
            await asyncio.gather(*(user(name) for name in "uvw"))
        finally:
            ended.set()

    await asyncio.gather(users(), upkeep())
    while claims := await queue.claim():
        for held in claims:
            await queue.finish(held)
    assert Counter((await queue.states()).values()) == {"done": 90}
    assert await queue.miscounted() == []
    assert pruned > 0
    assert pruned_keys > 0


async def test_a_group_goes_when_its_jobs_have_gone_and_those_after_it(queue: Queue) -> None:
    await queue.group("first")
    await queue.group("second", after="first")
    await queue.add("a", group="first")
    await queue.pass_time(LONG, leases=False)
    assert (await prune(queue.engine)).groups == 1
    assert await queue.rows("SELECT id FROM job_groups") == [("first",)]
    await finished(queue, "b")
    await queue.cancel("a")
    await queue.pass_time(LONG)
    await queue.archive()
    assert (await prune(queue.engine)).groups == 1
    async with queue.engine.begin() as connection:
        await add_group(connection, Group("third", ORG, after="first"))
    await queue.add("c", group="third")
    assert (await queue.states())["c"] == "ready"


async def test_the_cap_of_an_organisation_goes_with_its_lanes_unless_an_admin_has_set_it(queue: Queue) -> None:
    queue.limits = Limits(3, 256, {}, organisation=2)
    await finished(queue, "a")
    await queue.pass_time(LONG)
    async with queue.engine.begin() as connection:
        await override_cap(connection, "org:gone", 4)
    assert (await prune(queue.engine)).caps == 3
    await queue.add("b", "c", "d")
    assert len([claim for _ in range(3) for claim in await queue.claim()]) == 2
    async with queue.engine.begin() as connection:
        await override_cap(connection, f"org:{ORG}", 3)
    for subject in "bcd":
        await queue.cancel(subject)
    await queue.execute("UPDATE jobs SET state = 'done', worker_id = NULL, finished_at = now() WHERE state = 'running'")
    await queue.pass_time(LONG)
    await queue.archive()
    assert (await prune(queue.engine)).caps == 1
    async with queue.engine.begin() as connection:
        assert [cap.name for cap in await list_caps(connection)] == [f"org:{ORG}"]


async def test_workers_are_forgotten_a_week_after_they_are_gone_with_what_they_published(queue: Queue) -> None:
    await queue.worker("owner", pool="docker@harbor")
    await queue.add("a", pool="docker@harbor")
    [held] = await queue.claim("owner", pools=["docker@harbor"])
    await queue.pass_time(GONE_SECONDS + 60)
    await queue.worker("young", pool="local@other")
    assert await prune(queue.engine) == Pruned(lanes=0, keys=0, groups=0, caps=0, workers=1, publications=2)
    await queue.finish(held)
    assert (await prune(queue.engine)).workers == 1
    assert await queue.rows("SELECT id FROM workers") == [("young",)]


async def test_what_a_worker_that_lives_has_published_stays_however_old(queue: Queue) -> None:
    await queue.pass_time(GONE_SECONDS + 60)
    await queue.worker("second", lease_seconds=2 * GONE_SECONDS)
    await queue.pass_time(GONE_SECONDS + 60)
    assert (await prune(queue.engine)).publications == 0
    assert await queue.rows("SELECT worker_id FROM publications") == [("second",)]
