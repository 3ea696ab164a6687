"""The schema of a database, as its servers and workers look at it."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.db.compatibility import EXISTS, REVISION, Schema


async def read_schema(connection: AsyncConnection) -> Schema:
    if not await connection.scalar(text(EXISTS)):
        return Schema(None)
    row = (await connection.execute(text(REVISION))).one_or_none()
    return Schema(None) if row is None else Schema(*row)


async def check_schema(connection: AsyncConnection) -> None:
    """Raises ``UnknownSchema`` for a schema that this release does not work with."""
    (await read_schema(connection)).check()
