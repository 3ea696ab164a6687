"""Transactions that PostgreSQL ends because they and others wait for each other: those are to be tried again."""

from collections.abc import Awaitable, Callable

from sqlalchemy.exc import DBAPIError

_ENDED = ("40P01", "40001")
_TRIES = 5


def deadlocked(error: DBAPIError) -> bool:
    """Whether the transaction has left nothing behind and would have succeeded alone."""
    return getattr(error.orig, "sqlstate", None) in _ENDED


async def outlast_deadlocks[Result](transaction: Callable[[], Awaitable[Result]]) -> Result:
    """Run all of ``transaction``, again when it was ended by a deadlock, a few times; then the error passes."""
    for _ in range(_TRIES - 1):
        try:
            return await transaction()
        except DBAPIError as error:
            if not deadlocked(error):
                raise
    return await transaction()
