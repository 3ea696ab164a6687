"""What a worker has to write is written, whatever a transaction meets."""

import asyncio

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from oddish.worker.persistence import insist

pytestmark = pytest.mark.anyio

LOCK = text("SELECT pg_advisory_xact_lock(:lock)")


async def test_a_transaction_that_a_deadlock_ended_is_done_again(engine: AsyncEngine) -> None:
    turns = 0
    begun = asyncio.Event()

    async def opposite(connection: AsyncConnection) -> str:
        nonlocal turns
        turns += 1
        await connection.execute(LOCK, {"lock": 2})
        begun.set()
        await connection.execute(LOCK, {"lock": 1})
        return "done"

    async with engine.begin() as other:
        await other.execute(text("SET LOCAL deadlock_timeout = '10s'"))
        await other.execute(LOCK, {"lock": 1})
        insisting = asyncio.create_task(insist(engine, opposite))
        await begun.wait()
        await other.execute(LOCK, {"lock": 2})
    assert await insisting == "done"
    assert turns == 2


async def test_a_lock_that_others_hold_for_long_is_waited_for_again(engine: AsyncEngine) -> None:
    turns = 0
    again = asyncio.Event()

    async def locking(connection: AsyncConnection) -> str:
        nonlocal turns
        turns += 1
        if turns == 1:
            await connection.execute(text("SET LOCAL lock_timeout = '20ms'"))
        else:
            again.set()
        await connection.execute(LOCK, {"lock": 3})
        return "done"

    async with engine.begin() as other:
        await other.execute(LOCK, {"lock": 3})
        insisting = asyncio.create_task(insist(engine, locking))
        await again.wait()
    assert await insisting == "done"
    assert turns == 2
