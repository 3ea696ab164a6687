"""Notifications as they come. Between them nothing is done: the driver's own wait wakes ten times a second."""

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncGenerator

from psycopg import AsyncConnection, Notify


async def notices(connection: AsyncConnection, *, seconds: float | None = None) -> AsyncGenerator[Notify]:
    """What ``connection``, which commits by itself, is told within ``seconds`` of what it listens to; None: for ever.

    Raises ``psycopg.Error`` when the connection is lost.
    """
    ends = math.inf if seconds is None else time.monotonic() + seconds
    while True:
        async for notice in connection.notifies(timeout=0):
            yield notice
        if (left := ends - time.monotonic()) <= 0:
            return
        await _readable(connection.fileno(), left if left < math.inf else None)


async def _readable(file: int, seconds: float | None) -> None:
    """Returns when something has come, or after ``seconds``."""
    loop, come = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(file, come.set)
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await come.wait()
    finally:
        loop.remove_reader(file)
