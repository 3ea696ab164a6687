"""Overspending: the trials of a run that has reached its cost limit are cancelled."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from oddish.db.deadlock import outlast_deadlocks
from oddish.money import dollars
from oddish.queue.cancel import cancel
from oddish.queue.keys import BASELINE_KEY

STOPPED_AT_A_TIME = 500
STOP_LOCK = 0x0DD15D

# The budget that was exceeded first and whose trials have not all been stopped; none while somebody else stops some.
# Locks: none but itself.
EXCEEDED = """
WITH first AS MATERIALIZED (
  SELECT org_id, id, spent_usd, limit_usd FROM budgets
  WHERE exceeded_at IS NOT NULL AND stopped_at IS NULL ORDER BY exceeded_at LIMIT 1
)
SELECT * FROM first WHERE pg_try_advisory_xact_lock(:lock)
"""

# Its next trials that wait or run and that nobody has cancelled. Baselines last: the end of the last one decides about
# those that wait for it. Locks: none.
UNFINISHED = """
SELECT t.id FROM trials t JOIN jobs j ON j.subject_id = t.id AND j.kind = 'trial'
WHERE t.org_id = :org_id AND t.budget_id = :id AND j.state IN ('held', 'ready', 'scheduled', 'running')
  AND NOT j.cancel_requested
ORDER BY t.queue_key = :baselines, t.id LIMIT :most
"""

# Locks: that budget.
STOPPED = "UPDATE budgets SET stopped_at = clock_timestamp() WHERE org_id = :org_id AND id = :id"


async def stop_overspent(database: AsyncEngine) -> int:
    """Cancel what waits or runs of all budgets that are exceeded, in short transactions; how many trials there were.

    Does nothing while another worker does it.
    """
    stopped = 0

    async def turn() -> int | None:
        async with database.begin() as connection:
            return await _stop_some(connection)

    while (some := await outlast_deadlocks(turn)) is not None:
        stopped += some
    return stopped


async def _stop_some(connection: AsyncConnection) -> int | None:
    """None when there is nothing left to stop, or somebody else does it."""
    budget = (await connection.execute(text(EXCEEDED), {"lock": STOP_LOCK})).one_or_none()
    if budget is None:
        return None
    named = {"org_id": budget.org_id, "id": budget.id}
    found = await connection.scalars(text(UNFINISHED), {**named, "baselines": BASELINE_KEY, "most": STOPPED_AT_A_TIME})
    trial_ids = list(found)
    if not trial_ids:
        await connection.execute(text(STOPPED), named)
        return 0
    reason = (
        f"Cancelled at the cost limit: the run has cost about {dollars(budget.spent_usd)}, "
        f"and its limit is {dollars(budget.limit_usd)}."
    )
    await cancel(connection, kind="trial", subject_ids=trial_ids, reason=reason)
    return len(trial_ids)
