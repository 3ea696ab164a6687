"""Statements that are planned for what they are asked, instead of once for whatever they may be asked."""

import pytest

from oddish.db import engine

pytestmark = pytest.mark.anyio

REPEATS = 12
"""More than it takes for a statement to be prepared, and its plan to be kept."""


async def test_what_is_planned_anew_leaves_no_plan_behind_and_what_follows_does(database_url: str) -> None:
    connected = engine.connect(database_url, role="test").execution_options(isolation_level="AUTOCOMMIT")
    try:
        async with connected.connect() as connection:

            async def kept() -> int:
                for _ in range(REPEATS):
                    await connection.exec_driver_sql("SELECT count(*) FROM trials WHERE status = %s", ("queued",))
                found = await connection.exec_driver_sql(
                    "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%%FROM trials%%'"
                )
                return int(found.scalar_one())

            async with engine.planned_anew(connection):
                assert await kept() == 0
            assert await kept() == 1
    finally:
        await connected.dispose()
