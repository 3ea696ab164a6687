"""Whoever listens is told at once, and costs nothing while nothing is said."""

import asyncio
from collections.abc import AsyncIterator

import psycopg
import pytest

from oddish.db.notices import notices
from oddish.db.url import plain

pytestmark = pytest.mark.anyio


@pytest.fixture
async def listening(database_url: str) -> AsyncIterator[psycopg.AsyncConnection]:
    async with await psycopg.AsyncConnection.connect(plain(database_url), autocommit=True) as connection:
        await connection.execute("LISTEN told")
        yield connection


@pytest.fixture
async def speaking(database_url: str) -> AsyncIterator[psycopg.AsyncConnection]:
    async with await psycopg.AsyncConnection.connect(plain(database_url), autocommit=True) as connection:
        yield connection


async def heard(connection: psycopg.AsyncConnection, seconds: float) -> list[str]:
    return [notice.payload async for notice in notices(connection, seconds=seconds)]


async def test_what_comes_while_nobody_waits_and_while_somebody_does_is_heard_in_its_order(
    listening: psycopg.AsyncConnection, speaking: psycopg.AsyncConnection
) -> None:
    await speaking.execute("SELECT pg_notify('told', 'before')")
    await listening.execute("SELECT 1")
    telling = notices(listening)
    assert (await anext(telling)).payload == "before"
    waiting = asyncio.ensure_future(anext(telling))
    await asyncio.sleep(0)
    assert not waiting.done()
    await speaking.execute("SELECT pg_notify('told', word) FROM unnest(ARRAY['one', 'two']) word")
    assert (await waiting).payload == "one"
    assert (await anext(telling)).payload == "two"
    await telling.aclose()


async def test_the_wait_ends_after_its_time_and_the_connection_is_free_then(
    listening: psycopg.AsyncConnection, speaking: psycopg.AsyncConnection
) -> None:
    assert await heard(listening, 0.01) == []
    await speaking.execute("SELECT pg_notify('told', 'later')")
    telling = notices(listening)
    assert (await anext(telling)).payload == "later"
    await telling.aclose()


async def test_the_loop_rests_while_nothing_comes(
    listening: psycopg.AsyncConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []
    notifies = listening.notifies

    def counted(**options: object) -> object:
        looks.append(options)
        return notifies(**options)  # type: ignore[arg-type]

    monkeypatch.setattr(listening, "notifies", counted)
    assert await heard(listening, 0.3) == []
    assert len(looks) == 2


async def test_a_lost_connection_is_an_error(
    listening: psycopg.AsyncConnection, speaking: psycopg.AsyncConnection
) -> None:
    waiting = asyncio.ensure_future(heard(listening, 60))
    await asyncio.sleep(0)
    await speaking.execute("SELECT pg_terminate_backend(%s)", (listening.info.backend_pid,))
    with pytest.raises(psycopg.OperationalError):
        await waiting
