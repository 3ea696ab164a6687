"""Jobs that have ended leave the hot table; what their execution says afterwards is refused as before."""

import pytest

from oddish.queue.archive import STAYS_SECONDS, archive, forget_finished
from oddish.queue.finish import StaleClaim
from support.queues import Queue

pytestmark = pytest.mark.anyio

LATER = STAYS_SECONDS + 1


async def places(queue: Queue) -> dict[str, str]:
    return dict(
        await queue.rows("SELECT subject_id, 'hot' FROM jobs UNION ALL SELECT subject_id, 'archive' FROM finished_jobs")
    )


async def test_what_has_ended_is_archived_after_a_while_and_nothing_else(queue: Queue) -> None:
    await queue.add("done", key="p/a")
    await queue.add("failed", key="p/b")
    await queue.add("running", key="p/c")
    await queue.add("scheduled", key="p/d")
    held = {claim.subject_id: claim for claim in await queue.claim()}
    await queue.finish(held["done"])
    await queue.finish(held["failed"], "failed")
    await queue.retry(held["scheduled"], delay_seconds=10 * LATER)
    await queue.add("ready", "cancelled", key="p/e")
    await queue.cancel("cancelled")
    await queue.group("first")
    await queue.group("second", after="first")
    await queue.add("leader", group="first")
    await queue.add("held", group="second")
    assert await queue.archive() == 0
    await queue.pass_time(LATER)
    assert await queue.archive() == 3
    assert await queue.archive() == 0
    archived = {"done", "failed", "cancelled"}
    assert await places(queue) == dict.fromkeys(archived, "archive") | dict.fromkeys(
        ("running", "scheduled", "ready", "leader", "held"), "hot"
    )
    assert {name: state for name, state in (await queue.states()).items() if name in archived} == {
        name: name for name in archived
    }
    assert await queue.miscounted() == []


async def test_a_late_report_on_an_archived_job_is_refused(queue: Queue) -> None:
    await queue.add("a")
    [held] = await queue.claim()
    await queue.finish(held)
    await queue.pass_time(LATER)
    assert await queue.archive() == 1
    with pytest.raises(StaleClaim):
        await queue.finish(held, "failed")
    assert await queue.states() == {"a": "done"}
    assert (await queue.cancel("a")).cancelled == 0


async def test_the_archive_has_what_the_job_was(queue: Queue) -> None:
    await queue.add("a", priority=1, memory_mb=7)
    [held] = await queue.claim()
    await queue.retry(held, cause="lost")
    await queue.promote()
    [held] = await queue.claim()
    await queue.finish(held, "failed")
    shown = """id, org_id, kind, subject_id, pool, key, lane, priority, state, epoch, claim_id, attempt, max_attempts,
        losses, group_id, memory_mb, error, created_at, started_at, finished_at"""
    await queue.pass_time(LATER)
    before = await queue.rows(f"SELECT {shown} FROM jobs")  # noqa: S608 - names from above
    await queue.archive()
    assert await queue.rows(f"SELECT {shown} FROM finished_jobs") == before  # noqa: S608
    assert await queue.rows("SELECT count(*) FROM jobs") == [(0,)]


async def test_a_group_goes_on_when_those_that_ended_are_archived(queue: Queue) -> None:
    await queue.group("first", max_running=1)
    await queue.group("second", after="first")
    await queue.add("a", "b", group="first")
    await queue.add("c", group="second")
    [held] = await queue.claim()
    await queue.finish(held)
    await queue.pass_time(LATER)
    await queue.archive()
    assert await queue.states() == {"a": "done", "b": "ready", "c": "held"}
    [held] = await queue.claim()
    await queue.finish(held)
    assert await queue.states() == {"a": "done", "b": "done", "c": "ready"}


async def test_two_workers_share_the_work_without_waiting(queue: Queue) -> None:
    await queue.add(*"abcd")
    await queue.cancel(*"abcd")
    await queue.pass_time(LATER)
    async with queue.engine.begin() as one, queue.engine.begin() as other:
        assert await archive(one, most=3) == 3
        assert await archive(other, most=3) == 1
    assert set((await places(queue)).values()) == {"archive"}


async def test_finished_jobs_are_forgotten_after_their_time(queue: Queue) -> None:
    await queue.add("old")
    await queue.cancel("old")
    await queue.pass_time(40 * 24 * 3600)
    await queue.add("new")
    await queue.cancel("new")
    await queue.pass_time(LATER)
    await queue.archive()
    async with queue.engine.connect() as connection:
        assert await forget_finished(connection, days=30) == 1
        assert await forget_finished(connection, days=30) == 0
    assert await queue.states() == {"new": "cancelled"}
