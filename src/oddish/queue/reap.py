"""Reaping: jobs of workers that died run again."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.queue.claim import Claim
from oddish.queue.finish import fence, finish, retry
from oddish.queue.policy import MAX_LOSSES, loss_delay

# Ends the life of one worker whose lease ended while it owned jobs, provided that somebody else's lease is alive: when
# nobody could renew, the outage is the database's, not theirs. A renewal that waits for its row then comes too late: it
# sees the jobs as they were. Locks: workers (that row).
DEAD_WORKER = """
UPDATE workers SET stopped_at = lease_until WHERE id = (
  SELECT w.id FROM workers w
  WHERE w.lease_until < clock_timestamp()
    AND EXISTS (SELECT FROM jobs j WHERE j.worker_id = w.id AND j.state = 'running')
    AND EXISTS (SELECT FROM workers alive WHERE alive.lease_until > clock_timestamp())
  ORDER BY w.lease_until LIMIT 1 FOR UPDATE SKIP LOCKED
) RETURNING id
"""

# What a dead worker left running. Locks: none.
LEFT_RUNNING = """
SELECT id, org_id, kind, subject_id, epoch, claim_id, attempt, max_attempts, losses, memory_mb FROM jobs
WHERE worker_id = :worker_id AND state = 'running' ORDER BY id
"""

# One execution that a worker owns. Locks: none.
OWNED = """
SELECT id, org_id, kind, subject_id, epoch, claim_id, attempt, max_attempts, losses, memory_mb FROM jobs
WHERE worker_id = :worker_id AND state = 'running' AND id = :id AND epoch = :epoch
"""

# What the attempt had spent by then is all that its trial will show of it. Locks: attempts, trials.
MARK_LOST = """
WITH lost AS (
  UPDATE attempts SET state = 'lost', finished_at = clock_timestamp(),
    reasons = jsonb_build_array(CAST(:reason AS text))
  WHERE trial_id = :trial_id AND epoch = :epoch AND state = 'running'
  RETURNING trial_id, input_tokens, cache_tokens, cache_write_tokens, output_tokens, cost_usd, cost_is_estimated
)
UPDATE trials SET input_tokens = lost.input_tokens, cache_tokens = lost.cache_tokens,
  cache_write_tokens = lost.cache_write_tokens, output_tokens = lost.output_tokens, cost_usd = lost.cost_usd,
  cost_is_estimated = lost.cost_is_estimated
FROM lost WHERE trials.id = lost.trial_id AND lost.input_tokens IS NOT NULL
"""

LOST = "The worker that ran this attempt stopped answering; the attempt is not charged."


async def lose(connection: AsyncConnection, claim: Claim) -> None:
    """Record that an execution was lost with its worker: again later, or over when cancelled or lost too often.

    Runs in the caller's transaction. Raises ``StaleClaim`` when the execution no longer owns its job.
    """
    cancelled = await fence(connection, claim)
    await _mark_lost(connection, claim, reason="worker_lost")
    losses = claim.losses + 1
    if cancelled is not None:
        await finish(connection, claim, "cancelled", error=cancelled, cause="lost")
    elif losses >= MAX_LOSSES:
        error = f"{losses} of its executions were lost with their workers"
        await finish(connection, claim, "failed", error=error, cause="lost")
    else:
        await retry(connection, claim, delay_seconds=loss_delay(losses), error=LOST, cause="lost")


async def lose_owned(connection: AsyncConnection, *, worker_id: str, job_id: int, epoch: int) -> None:
    """Lose an execution that its worker owns and does not run. Nothing happens when it no longer owns it."""
    parameters = {"worker_id": worker_id, "id": job_id, "epoch": epoch}
    row = (await connection.execute(text(OWNED), parameters)).mappings().one_or_none()
    if row is not None:
        await lose(connection, Claim(**row))


async def release(connection: AsyncConnection, claim: Claim) -> None:
    """Give an execution back that its worker has not begun or cannot go on with: not charged, no loss.

    Runs in the caller's transaction. Raises ``StaleClaim`` when the execution no longer owns its job.
    """
    cancelled = await fence(connection, claim)
    await _mark_lost(connection, claim, reason="released")
    if cancelled is not None:
        await finish(connection, claim, "cancelled", error=cancelled, cause="released")
    else:
        await retry(connection, claim, delay_seconds=0, error=None, cause="released")


async def _mark_lost(connection: AsyncConnection, claim: Claim, *, reason: str) -> None:
    if claim.kind == "trial":
        await connection.execute(
            text(MARK_LOST), {"reason": reason, "trial_id": claim.subject_id, "epoch": claim.epoch}
        )


async def reap(connection: AsyncConnection) -> int:
    """Take the jobs of one dead worker back, in the caller's transaction; how many there were. 0: nobody is dead."""
    worker_id = await connection.scalar(text(DEAD_WORKER))
    if worker_id is None:
        return 0
    rows = (await connection.execute(text(LEFT_RUNNING), {"worker_id": worker_id})).mappings().all()
    for row in rows:
        await lose(connection, Claim(**row))
    return len(rows)
