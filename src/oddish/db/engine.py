"""Connections: one engine a process, short transactions, every statement bounded in time."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap, Loader
from pydantic_core import from_json
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from oddish.errors import Unavailable

STATEMENT_TIMEOUT_MS = 30_000
IDLE_IN_TRANSACTION_TIMEOUT_MS = 60_000
LOCK_TIMEOUT_MS = 10_000


def connect(url: str, *, role: str, pool_size: int = 10) -> AsyncEngine:
    """An engine for ``url``; ``role`` names the process in ``pg_stat_activity``. No connection is made yet."""
    if not url:
        raise Unavailable(
            "No database is configured: ODDISH_DATABASE_URL is empty.",
            fix="Set it to postgresql+psycopg://user@host/name, or run `oddish up` for a local stack.",
        )
    options = (
        f"-c statement_timeout={STATEMENT_TIMEOUT_MS} -c lock_timeout={LOCK_TIMEOUT_MS} "
        f"-c idle_in_transaction_session_timeout={IDLE_IN_TRANSACTION_TIMEOUT_MS} -c timezone=UTC"
    )
    return create_async_engine(
        url,
        hide_parameters=True,
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_pre_ping=False,
        pool_timeout=15,
        connect_args={
            "options": options,
            "application_name": f"oddish-{role}",
            "connect_timeout": 10,
            "context": _adapters(),
        },
    )


@asynccontextmanager
async def planned_anew(connection: AsyncConnection) -> AsyncIterator[None]:
    """What is executed meanwhile is planned for its own parameters.

    A statement that is prepared gets a plan for any parameters after a few executions. Where it filters by what users
    choose, such a plan takes the rare for common.
    """
    driver = cast("psycopg.AsyncConnection", (await connection.get_raw_connection()).driver_connection)
    threshold = driver.prepare_threshold
    driver.prepare_threshold = None
    try:
        yield
    finally:
        driver.prepare_threshold = threshold


def _adapters() -> AdaptersMap:
    adapters = AdaptersMap(psycopg.adapters)
    for name in ("json", "jsonb"):
        adapters.register_loader(name, _JsonLoader)
    return adapters


class _JsonLoader(Loader):
    """Lists of trials have thousands of small documents, for which the driver's own takes twice as long."""

    def load(self, data: Buffer) -> Any:
        return read_json(bytes(data))


def read_json(text: str | bytes) -> Any:
    """A value of a JSON column. Documents nested deeper than the fast parser goes are left to the slow one."""
    try:
        return from_json(text)
    except ValueError:
        return json.loads(text)
