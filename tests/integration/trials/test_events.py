"""Live events are written by the attempt that runs and by nobody else, and stay until the record is in the store."""

import asyncio
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.db.url import plain
from oddish.queue.claim import Claim
from oddish.queue.reap import lose
from oddish.trials.events import KEPT_HOURS, LINGER_SECONDS, LIVE_CHANNEL, Entry, purge
from oddish.trials.progress import record
from oddish.trials.recording import record_stage
from support import live_events
from support.claims import EXAMPLE, claimed, deployment_with_a_worker
from support.deployments import Deployment

pytestmark = pytest.mark.anyio


@pytest.fixture
async def deployment(engine: AsyncEngine, oddish_home: Path, database_url: str) -> Deployment:
    return await deployment_with_a_worker(engine, oddish_home, database_url)


@pytest.fixture
async def held(deployment: Deployment) -> Claim:
    await deployment.submit(await deployment.task(EXAMPLE), max_attempts=2)
    return await claimed(deployment)


async def write(deployment: Deployment, entries: dict[Claim, list[Entry]]) -> set[Claim]:
    async with deployment.database.begin() as connection:
        return await record(connection, entries, {})


async def read(deployment: Deployment, held: Claim) -> list[str]:
    return await live_events.said(deployment.database, held.subject_id, held.epoch)


def said(seq: int, words: str) -> Entry:
    return Entry(seq, "message", {"text": words})


async def test_events_are_in_their_order_however_they_were_written(deployment: Deployment, held: Claim) -> None:
    assert await write(deployment, {held: [said(2, "two"), said(1, "one")]}) == {held}
    await write(deployment, {held: [said(3, "three")]})
    assert await read(deployment, held) == ["one", "two", "three"]


async def test_a_batch_that_is_repeated_is_there_once(deployment: Deployment, held: Claim) -> None:
    for _ in range(2):
        assert await write(deployment, {held: [said(1, "once")]}) == {held}
    assert await read(deployment, held) == ["once"]


async def test_what_cannot_be_stored_is_replaced(deployment: Deployment, held: Claim) -> None:
    await write(deployment, {held: [said(1, "a\0b\ud800c")]})
    assert await read(deployment, held) == ["a\ufffdb\ufffdc"]


async def test_an_attempt_that_was_lost_writes_nothing_and_the_next_begins_anew(
    deployment: Deployment, held: Claim
) -> None:
    await write(deployment, {held: [said(1, "first attempt")]})
    async with deployment.database.begin() as connection:
        await lose(connection, held)
    second = await claimed(deployment)
    owning = await write(deployment, {held: [said(2, "too late")], second: [said(1, "second attempt")]})
    assert owning == {second}
    assert await read(deployment, held) == ["first attempt"]
    assert await read(deployment, second) == ["second attempt"]


async def test_an_event_that_meets_the_end_of_its_attempt_comes_before_it_or_not_at_all(
    deployment: Deployment, held: Claim
) -> None:
    async with deployment.database.begin() as ending:
        await lose(ending, held)
        late = asyncio.create_task(write(deployment, {held: [said(1, "too late")]}))
        waiting = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
        async with deployment.database.connect() as watching:
            async with asyncio.timeout(10):
                while not await watching.scalar(waiting):
                    await watching.rollback()
    assert await late == set()
    assert await read(deployment, held) == []


async def test_followers_are_woken_by_events_and_by_progress(deployment: Deployment, held: Claim) -> None:
    url = plain(deployment.settings.database_url)
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as listening:
        await listening.execute(f"LISTEN {LIVE_CHANNEL}")

        async def woken() -> list[str]:
            return [word.payload async for word in listening.notifies(timeout=5, stop_after=1)]

        await write(deployment, {held: [said(1, "one"), said(2, "two")]})
        assert await woken() == [held.subject_id]
        async with deployment.database.begin() as connection:
            await record_stage(connection, held, "verification")
        assert await woken() == [held.subject_id]
        async with deployment.database.begin() as connection:
            await connection.execute(text("UPDATE trials SET finished_at = now()"))
        assert await woken() == [held.subject_id]


async def test_events_go_soon_after_their_record_is_stored_and_a_day_later_without_one(
    deployment: Deployment, held: Claim
) -> None:
    async def purged_after(seconds: float, prefix: str | None) -> int:
        async with deployment.database.connect() as connection, connection.begin() as trial:
            ended = text(
                "UPDATE attempts SET state = 'finished', artifact_prefix = :prefix,"
                " finished_at = now() - make_interval(secs => :seconds)"
            )
            await connection.execute(ended, {"seconds": seconds, "prefix": prefix})
            gone = await purge(connection)
            await trial.rollback()
        return gone

    await deployment.submit(held.subject_id.rpartition("-")[0], index=1)
    second = await claimed(deployment)
    await write(deployment, {held: [said(1, "one"), said(2, "two")], second: [said(1, "one")]})
    async with deployment.database.begin() as connection:
        assert await purge(connection) == 0, "both run"
    assert await purged_after(LINGER_SECONDS - 10, "trials/x/1-a") == 0
    assert await purged_after(LINGER_SECONDS + 10, "trials/x/1-a") == 3
    assert await purged_after(LINGER_SECONDS + 10, None) == 0
    assert await purged_after((KEPT_HOURS * 3600) + 10, None) == 3
