"""Secrets live as long as the deployment keeps them."""

from sqlalchemy import delete, func
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.db.tables import secrets


async def delete_expired_secrets(connection: AsyncConnection) -> int:
    """Delete what is past its time, in the caller's transaction; how many there were. Trials lose the reference."""
    return (await connection.execute(delete(secrets).where(secrets.c.expires_at < func.now()))).rowcount
