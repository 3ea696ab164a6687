"""What an attempt has said so far, as the database has it."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

SAID = text(
    "SELECT payload ->> 'text' FROM trial_events WHERE trial_id = :trial_id AND attempt = :attempt ORDER BY seq"
)


async def said(database: AsyncEngine, trial_id: str, attempt: int) -> list[str]:
    """The texts of its events in their order; an attempt is known by its epoch."""
    async with database.connect() as connection:
        return list(await connection.scalars(SAID, {"trial_id": trial_id, "attempt": attempt}))
