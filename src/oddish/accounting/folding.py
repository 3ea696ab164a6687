"""Folding: attempts that have ended are added up by the hour, so that reports read few rows.

Each is added once, whenever its end was committed and whoever is killed meanwhile: its mark and the sums are of one
statement. Reports read what is marked from the sums and the rest from the attempts, as of one moment, so it makes no
difference to them what has been folded.
"""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from oddish.accounting.entries import ENTERED, ENTRY, FOLDED, summed

FOLDED_AT_A_TIME = 5_000
FOLD_LOCK = 0x6F646473_70656E64  # "oddspend"

# One worker folds at a time: two might wait for each other's hours.
ALONE = "SELECT pg_try_advisory_xact_lock(:lock)"

_HOUR = "org_id, hour, user_id, experiment_id, agent, provider, model"
_TASK_HOUR = "org_id, user_id, hour, task_id"
_SUMS = ", ".join(FOLDED)


def _add(table: str, key: str) -> str:
    added = ", ".join(f"{name} = {table}.{name} + excluded.{name}" for name in FOLDED)
    return f"""
      INSERT INTO {table} ({key}, {_SUMS}) SELECT {key}, {summed(FOLDED)} FROM entries GROUP BY {key}
      ON CONFLICT ({key}) DO UPDATE SET {added}"""  # noqa: S608


# Locks: attempts that have ended and that nobody else has, spend_hours, spend_task_hours.
FOLD = f"""
WITH next AS MATERIALIZED (
  SELECT trial_id, epoch FROM attempts WHERE NOT spend_folded AND state <> 'running'
  LIMIT :most FOR NO KEY UPDATE SKIP LOCKED
), marked AS (
  UPDATE attempts a SET spend_folded = true FROM next WHERE a.trial_id = next.trial_id AND a.epoch = next.epoch
  RETURNING a.*
), entries AS MATERIALIZED (
  SELECT {ENTRY} FROM marked a JOIN trials t ON t.id = a.trial_id WHERE {ENTERED}
), hours AS ({_add("spend_hours", _HOUR)}
), task_hours AS ({_add("spend_task_hours", _TASK_HOUR)}
)
SELECT count(*) FROM marked
"""  # noqa: S608


async def fold(connection: AsyncConnection, *, most: int = FOLDED_AT_A_TIME) -> int:
    """Add up to ``most`` attempts, in the caller's transaction; how many. 0 also where somebody else is at it."""
    if not await connection.scalar(text(ALONE), {"lock": FOLD_LOCK}):
        return 0
    return int((await connection.execute(text(FOLD), {"most": most})).scalar_one())


async def fold_all(database: AsyncEngine) -> int:
    """Add what there is, in short transactions; how many attempts."""
    total = 0
    while True:
        async with database.begin() as connection:
            count = await fold(connection)
        total += count
        if count == 0:
            return total
