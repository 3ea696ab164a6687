"""Limits that change while the queue runs, and the audit of its counters."""

import asyncio

import pytest

from oddish.metrics import REGISTRY
from oddish.queue.audit import Drift, audit
from oddish.queue.keys import Limits
from oddish.queue.limits import list_caps, list_keys, override_cap, override_key, pause_key, reset_cap, reset_key
from support.queues import ORG, Queue

pytestmark = pytest.mark.anyio

KINDS = ("key", "lane", "cap")


async def test_a_lower_limit_counts_at_once_and_ends_nothing(queue: Queue) -> None:
    await queue.add(*"abcdef")
    held = [claim for _ in range(3) for claim in await queue.claim()]
    async with queue.engine.begin() as connection:
        changed = await override_key(connection, "p/m", 1, deploy_limit=3)
    assert (changed.limit, changed.running) == (1, 3)
    await queue.finish(held[0])
    await queue.finish(held[1])
    assert await queue.claim() == []
    await queue.finish(held[2])
    assert len(await queue.claim()) == 1


async def test_removing_the_override_returns_to_the_deployments_limit(queue: Queue) -> None:
    async with queue.engine.begin() as connection:
        assert (await override_key(connection, "p/one", 5, deploy_limit=1)).limit == 5
        changed = await reset_key(connection, "p/one")
        assert changed is not None
        assert changed.limit == 1
        assert [entry.name for entry in await list_keys(connection)] == ["p/one"]


async def test_removing_an_override_makes_no_key_and_no_cap(queue: Queue) -> None:
    async with queue.engine.begin() as connection:
        assert await reset_key(connection, "no/such") is None
        assert await reset_cap(connection, "provider:no") is None
        assert await list_keys(connection) + await list_caps(connection) == []


async def test_an_override_outlives_the_next_submission(queue: Queue) -> None:
    async with queue.engine.begin() as connection:
        await override_key(connection, "p/m", 1, deploy_limit=3)
        await override_cap(connection, f"org:{ORG}", 7)
    await queue.add("a")
    async with queue.engine.begin() as connection:
        [key] = await list_keys(connection)
        caps = {cap.name: cap.limit for cap in await list_caps(connection)}
    assert (key.limit, key.deploy_limit) == (1, 3)
    assert caps == {f"org:{ORG}": 7, "provider:p": None}


async def test_the_deployment_limits_providers_and_organisations(queue: Queue) -> None:
    queue.limits = Limits(8, 256, {}, providers={"p": 2}, organisation=3)
    for model in "ab":
        await queue.add(*(f"{model}{number}" for number in range(3)), key=f"p/{model}")
        await queue.add(*(f"q{model}{number}" for number in range(3)), key=f"q/{model}")
    held = [claim.subject_id for _ in range(6) for claim in await queue.claim()]
    assert len(held) == 3
    assert sum(not subject.startswith("q") for subject in held) <= 2


async def test_a_paused_key_resumes(queue: Queue) -> None:
    await queue.add("a")
    async with queue.engine.begin() as connection:
        paused = await pause_key(connection, "p/m", paused=True)
        assert await pause_key(connection, "no/such", paused=True) is None
    assert paused is not None
    assert paused.paused
    assert await queue.claim() == []
    async with queue.engine.begin() as connection:
        await pause_key(connection, "p/m", paused=False)
    assert len(await queue.claim()) == 1


async def test_the_audit_finds_nothing_while_the_queue_is_busy(queue: Queue) -> None:
    await queue.add(*(f"s{number}" for number in range(30)))

    async def churn() -> None:
        for _ in range(10):
            for held in await queue.claim(slots=1):
                await queue.finish(held)

    async def look() -> list[Drift]:
        found = []
        for _ in range(10):
            async with queue.engine.begin() as connection:
                found += await audit(connection)
        return found

    *_, found = await asyncio.gather(churn(), churn(), churn(), look())
    assert found == []


async def test_the_audit_repairs_what_is_off(queue: Queue) -> None:
    await queue.add("a", "b")
    await queue.claim(slots=1)
    await queue.execute("UPDATE queue_keys SET running = 5")
    await queue.execute("UPDATE queue_lanes SET running = 0")
    await queue.execute("UPDATE queue_caps SET running = 3 WHERE name = 'provider:p'")
    before = [REGISTRY.get_sample_value("oddish_counter_drift_total", {"kind": kind}) or 0 for kind in KINDS]
    async with queue.engine.begin() as connection:
        found = await audit(connection)
    after = [REGISTRY.get_sample_value("oddish_counter_drift_total", {"kind": kind}) or 0 for kind in KINDS]
    assert [now - then for now, then in zip(after, before, strict=True)] == [1, 1, 1]
    assert sorted(found, key=lambda drift: drift.kind) == [
        Drift("cap", "provider:p", 3, 1),
        Drift("key", "p/m", 5, 1),
        Drift("lane", "p/m u", 0, 1),
    ]
    assert await queue.miscounted() == []


async def test_a_process_that_does_not_decide_limits_makes_what_is_new_only(queue: Queue) -> None:
    await queue.add("a")
    queue.limits = Limits(1, 1, {}, providers={"p": 1}, authoritative=False)
    await queue.add("b")
    await queue.add("c", key="p/new")
    assert await queue.rows("SELECT key, deploy_limit FROM queue_keys ORDER BY key") == [("p/m", 3), ("p/new", 1)]
    assert await queue.rows("SELECT deploy_limit FROM queue_caps WHERE name = 'provider:p'") == [(None,)]
