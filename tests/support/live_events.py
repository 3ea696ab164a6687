"""What an attempt has said so far, as the database has it."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

SAID = text("""
SELECT seq, payload ->> 'text' AS words FROM trial_events
WHERE trial_id = :trial_id AND attempt = :attempt ORDER BY seq
""")


async def said(database: AsyncEngine, trial_id: str, attempt: int = 1) -> list[str]:
    """The texts of its events, which are numbered without gaps; an attempt is known by its epoch."""
    async with database.connect() as connection:
        rows = (await connection.execute(SAID, {"trial_id": trial_id, "attempt": attempt})).all()
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    return [row.words for row in rows]
