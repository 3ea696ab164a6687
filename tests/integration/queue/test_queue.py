"""Claims respect every limit, reports are fenced, counters are exact."""

import asyncio
from collections import Counter

import pytest

from oddish.queue.claim import anything_waits
from oddish.queue.finish import StaleClaim
from oddish.queue.policy import MAX_LOSSES
from oddish.queue.reap import reap, release
from support.queues import POOL, Queue

pytestmark = pytest.mark.anyio


async def test_a_claim_takes_the_oldest_job_of_the_lane(queue: Queue) -> None:
    await queue.add("first", "second")
    assert [held.subject_id for held in await queue.claim(slots=1)] == ["first"]


async def test_a_key_never_runs_more_than_its_limit(queue: Queue) -> None:
    for user in "abcde":
        await queue.add(*(f"{user}{number}" for number in range(3)), user=user)
    held = await queue.claim() + await queue.claim()
    assert len(held) == 3
    assert await queue.claim() == []
    await queue.finish(held[0])
    assert len(await queue.claim()) == 1
    assert await queue.miscounted() == []


async def test_an_admins_override_goes_before_the_deployments_limit(queue: Queue) -> None:
    await queue.add(*"abcd")
    await queue.execute("UPDATE queue_keys SET override_limit = 1")
    assert [len(await queue.claim()) for _ in range(3)] == [1, 0, 0]


async def test_a_paused_key_is_not_claimed(queue: Queue) -> None:
    await queue.add("a")
    await queue.execute("UPDATE queue_keys SET paused = true")
    assert await queue.claim() == []


async def test_a_full_key_hides_no_other(queue: Queue) -> None:
    await queue.add("full1", "full2", key="p/one")
    await queue.add("open", key="q/m")
    assert {held.subject_id for held in await queue.claim()} == {"full1", "open"}


async def test_a_cap_holds_across_keys_and_hides_no_lane_outside_it(queue: Queue) -> None:
    for model in "abc":
        await queue.add(f"{model}1", key=f"capped/{model}")
    await queue.add("free", key="other/m")
    await queue.execute("UPDATE queue_caps SET override_limit = 2 WHERE name = 'provider:capped'")
    held = [*await queue.claim(), *await queue.claim()]
    assert Counter(claim.subject_id == "free" for claim in held) == {False: 2, True: 1}


async def test_lanes_share_a_key_evenly(queue: Queue) -> None:
    await queue.add(*(f"flood{number}" for number in range(20)), user="flood")
    await queue.execute("UPDATE queue_keys SET override_limit = 12")
    for _ in range(6):
        await queue.claim(slots=1)
    for user in ("x", "y", "z"):
        await queue.add(*(f"{user}{number}" for number in range(5)), user=user)
    held = [held for _ in range(6) for held in await queue.claim(slots=1)]
    assert Counter(held.subject_id[0] for held in held) == {"x": 2, "y": 2, "z": 2}


async def test_high_goes_before_low_unless_low_waited_ten_minutes_longer(queue: Queue) -> None:
    await queue.add("low")
    await queue.add("high", "higher", priority=1)
    assert (await queue.claim(slots=1))[0].subject_id == "high"
    await queue.execute("UPDATE jobs SET ready_at = ready_at - interval '11 minutes' WHERE subject_id = 'low'")
    assert (await queue.claim(slots=1))[0].subject_id == "low"


async def test_a_worker_claims_from_its_pools_only(queue: Queue) -> None:
    await queue.add("docker", pool="docker@harbor")
    assert await queue.claim() == []
    assert len(await queue.claim(pools=["local@harbor", "docker@harbor"])) == 1


async def test_a_job_that_does_not_fit_the_memory_skips_its_lane_only(queue: Queue) -> None:
    await queue.add("big", user="a", memory_mb=3000)
    await queue.add("medium", user="b", memory_mb=1500)
    await queue.add("small", user="c", memory_mb=100)
    assert {held.subject_id for held in await queue.claim(memory_mb=2000)} == {"medium", "small"}


async def test_a_batch_together_fits_the_memory(queue: Queue) -> None:
    for user in "abc":
        await queue.add(user, user=user, memory_mb=900)
    assert len(await queue.claim(memory_mb=2000)) == 2


async def test_one_active_job_per_subject(queue: Queue) -> None:
    await queue.add("a")
    with pytest.raises(Exception, match="jobs_one_active"):
        await queue.add("a")
    await queue.finish((await queue.claim())[0])
    await queue.add("a")


async def test_a_stale_execution_reports_nothing(queue: Queue) -> None:
    await queue.add("a")
    [zombie] = await queue.claim()
    await queue.retry(zombie)
    await queue.promote()
    [current] = await queue.claim()
    assert current.epoch == zombie.epoch + 1
    with pytest.raises(StaleClaim):
        await queue.finish(zombie)
    await queue.finish(current)
    assert await queue.states() == {"a": "done"}


async def test_a_claim_of_another_life_is_stale_even_with_the_same_epoch(queue: Queue) -> None:
    await queue.add("a")
    [held] = await queue.claim()
    await queue.execute("UPDATE jobs SET claim_id = gen_random_uuid()")
    with pytest.raises(StaleClaim):
        await queue.finish(held)


async def test_only_a_failed_attempt_is_charged(queue: Queue) -> None:
    await queue.add("a")
    charged = []
    for cause in ("failed", "lost", "released", "failed"):
        [held] = await queue.claim()
        await queue.retry(held, cause=cause)
        await queue.promote()
        charged += await queue.rows("SELECT attempt, losses FROM jobs")
    assert charged == [(1, 0), (1, 1), (1, 1), (2, 1)]


async def test_a_retry_waits_for_its_time(queue: Queue) -> None:
    await queue.add("a")
    await queue.retry((await queue.claim())[0], delay_seconds=3600)
    next_due = await queue.promote()
    assert next_due == pytest.approx(3600, abs=60)
    assert await queue.claim() == []
    await queue.execute("UPDATE jobs SET run_at = run_at - interval '2 hours'")
    assert await queue.promote() is None
    assert len(await queue.claim()) == 1


async def test_cancel_ends_what_waits_and_marks_what_runs(queue: Queue) -> None:
    await queue.add("running", "ready", "over")
    held = {claim.subject_id: claim for claim in [*await queue.claim(slots=1)]}
    await queue.cancel("over")
    summary = await queue.cancel("running", "ready", "over")
    assert (summary.cancelled, summary.stopping) == (1, 1)
    assert await queue.states() == {"running": "running", "ready": "cancelled", "over": "cancelled"}
    assert await queue.rows("SELECT cancel_requested FROM jobs WHERE subject_id = 'running'") == [(True,)]
    await queue.finish(held["running"], "cancelled")
    assert await queue.miscounted() == []


async def test_a_dead_workers_jobs_run_again_when_somebody_lives(queue: Queue) -> None:
    await queue.add("a", "b")
    await queue.claim("w")
    await queue.claim("w")
    await queue.execute("UPDATE workers SET lease_until = now() - interval '1 second'")
    async with queue.engine.begin() as connection:
        assert await reap(connection) == 0, "nobody beats: the outage is not theirs"
    await queue.worker("v")
    async with queue.engine.begin() as connection:
        assert await reap(connection) == 2
    assert set((await queue.states()).values()) == {"scheduled"}
    assert await queue.rows("SELECT DISTINCT attempt, losses FROM jobs") == [(0, 1)]
    assert await queue.miscounted() == []


async def test_a_job_that_kills_its_workers_fails_in_the_end(queue: Queue) -> None:
    await queue.add("poison")
    await queue.worker("alive")
    for life in range(MAX_LOSSES):
        await queue.worker(f"w{life}")
        await queue.execute("UPDATE jobs SET run_at = now() WHERE state = 'scheduled'")
        await queue.promote()
        assert len(await queue.claim(f"w{life}")) == 1
        await queue.execute("UPDATE workers SET lease_until = now() - interval '1 s' WHERE id = :id", id=f"w{life}")
        async with queue.engine.begin() as connection:
            await reap(connection)
    assert await queue.rows("SELECT state, error FROM jobs") == [
        ("failed", f"{MAX_LOSSES} of its executions were lost with their workers")
    ]


async def test_a_stopping_worker_gives_its_jobs_back_uncharged(queue: Queue) -> None:
    await queue.add("a")
    [held] = await queue.claim()
    async with queue.engine.begin() as connection:
        await release(connection, held)
    await queue.promote()
    assert await queue.rows("SELECT state, attempt, losses FROM jobs") == [("ready", 0, 0)]


async def test_many_claimers_at_once_neither_overshoot_nor_share(queue: Queue) -> None:
    for key in ("p/a", "p/b", "p/c", "p/d"):
        await queue.add(*(f"{key}{number}" for number in range(10)), key=key)
    rounds = await asyncio.gather(*(queue.claim(slots=2) for _ in range(16)))
    held = [claim for claims in rounds for claim in claims]
    assert len(held) == 12
    assert len({claim.subject_id for claim in held}) == 12
    await asyncio.gather(*(queue.finish(claim) for claim in held))
    assert await queue.miscounted() == []


async def test_what_waits_is_seen_in_its_own_pool_alone_and_until_it_is_claimed(queue: Queue) -> None:
    async def waits(*pools: str) -> bool:
        async with queue.engine.begin() as connection:
            return await anything_waits(connection, pools)

    assert not await waits(POOL)
    await queue.add("a")
    assert await waits("elsewhere@harbor", POOL)
    assert not await waits("elsewhere@harbor")
    await queue.claim()
    assert not await waits(POOL)
