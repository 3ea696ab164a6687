"""Work that outlasts a database or a store that is away for a moment."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from oddish.db.deadlock import deadlocked
from oddish.storage.errors import StorageFull, StorageUnavailable

log = structlog.get_logger()

FIRST_DELAY_SECONDS = 0.2
LONGEST_DELAY_SECONDS = 5.0
STORE_PATIENCE_SECONDS = 300.0


async def insist[Result](engine: AsyncEngine, transaction: Callable[[AsyncConnection], Awaitable[Result]]) -> Result:
    """Run ``transaction`` until it commits, again when the connection was lost or refused, or a deadlock ended it.

    It is tried until the task is cancelled: a worker whose lease cannot be renewed cancels its executions. A commit
    whose answer was lost is tried again, so the transaction must hold a fence that refuses the second one. Other errors
    pass.
    """
    delay = FIRST_DELAY_SECONDS
    while True:
        try:
            async with engine.begin() as connection:
                return await transaction(connection)
        except DBAPIError as error:
            if not passing(error):
                raise
            what = "deadlock" if deadlocked(error) else "database away"
            log.warning(what, error=str(error.orig), again_in=delay)
        await asyncio.sleep(delay)
        delay = min(delay * 2, LONGEST_DELAY_SECONDS)


async def outlast[Result](action: Callable[[], Awaitable[Result]]) -> Result:
    """Run ``action`` on the object store, again while the store is full or away, for ``STORE_PATIENCE_SECONDS``."""
    delay = FIRST_DELAY_SECONDS
    ends = asyncio.get_running_loop().time() + STORE_PATIENCE_SECONDS
    while True:
        try:
            return await action()
        except (StorageFull, StorageUnavailable) as error:
            if asyncio.get_running_loop().time() > ends:
                raise
            log.warning("store away", error=str(error), again_in=delay)
        await asyncio.sleep(delay)
        delay = min(delay * 2, LONGEST_DELAY_SECONDS)


def passing(error: DBAPIError) -> bool:
    """Whether the same transaction may succeed later: the connection was lost or refused, or a deadlock ended it."""
    return error.connection_invalidated or _refused(error) or deadlocked(error)


def _refused(error: DBAPIError) -> bool:
    """No connection could be made, the server is starting, stopping or short of connections, or a lock took long."""
    sqlstate: str | None = getattr(error.orig, "sqlstate", None)
    return sqlstate is None or sqlstate[:2] in ("08", "53", "57") or sqlstate == "55P03"
