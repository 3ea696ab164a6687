"""Weights share a key among its users, whether their lanes are there before or after."""

import asyncio
from collections import Counter

import pytest

from oddish.queue.enqueue import Lane, prepare_lanes
from oddish.queue.keys import Limits
from oddish.queue.weights import Weight, set_weight
from support.queues import ORG, Queue

pytestmark = pytest.mark.anyio


@pytest.fixture
async def users(queue: Queue) -> Queue:
    queue.limits = Limits(default=6, baseline=256, overrides={})
    for name in "uv":
        await queue.execute(
            "INSERT INTO users (id, org_id, name, role) VALUES (:name, :org, :name, 'member')", name=name, org=ORG
        )
    return queue


async def weigh(queue: Queue, user: str, weight: float) -> None:
    async with queue.engine.begin() as connection:
        assert await set_weight(connection, Weight(user, weight), org_id=ORG)


@pytest.mark.parametrize("lanes", ["before", "after"])
async def test_a_user_of_twice_the_weight_gets_twice_the_slots(users: Queue, lanes: str) -> None:
    if lanes == "after":
        await weigh(users, "u", 2)
    for user in "uv":
        await users.add(*(f"{user}{number}" for number in range(10)), user=user)
    if lanes == "before":
        await weigh(users, "u", 2)
    held = [claim for _ in range(6) for claim in await users.claim(slots=1)]
    assert Counter(claim.subject_id[0] for claim in held) == {"u": 4, "v": 2}
    for _ in range(4):
        await users.finish(held.pop(0))
        held += await users.claim(slots=1)
    assert Counter(claim.subject_id[0] for claim in held) == {"u": 4, "v": 2}


async def test_a_weight_keeps_no_slot_free(users: Queue) -> None:
    await weigh(users, "v", 0.01)
    await users.add(*(f"v{number}" for number in range(10)), user="v")
    assert len([claim for _ in range(7) for claim in await users.claim(slots=1)]) == 6


async def test_a_lane_that_is_made_meanwhile_gets_the_new_weight(users: Queue) -> None:
    await users.add("u0", key="p/a", user="u")
    async with users.engine.begin() as connection:
        assert await set_weight(connection, Weight("u", 3), org_id=ORG)
        making = asyncio.create_task(prepare_lanes(users.engine, [Lane("p/b", "u", "p", ORG)], users.limits))
        waiting = [(0,)]
        while waiting == [(0,)] and not making.done():
            waiting = await users.rows(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
        assert not making.done()
    await making
    assert await users.rows("SELECT key, weight FROM queue_lanes ORDER BY key") == [("p/a", 3), ("p/b", 3)]
