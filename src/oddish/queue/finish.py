"""Finishing: the fenced end of one execution."""

from typing import Literal

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.errors import Conflict
from oddish.queue.cancel import CANCELLED_BY_USER
from oddish.queue.claim import Claim

type RetryCause = Literal["failed", "lost", "released"]
"""Failed: the attempt reported and is charged. Lost: its worker died. Released: its worker stopped in good order."""
type FinalState = Literal["done", "failed", "cancelled"]

# Holds the job for the rest of the transaction if this execution still owns it. Locks: jobs.
FENCE = """
SELECT CASE WHEN cancel_requested THEN coalesce(error, :by_user) END FROM jobs
WHERE id = :id AND epoch = :epoch AND claim_id = :claim_id AND state = 'running' FOR NO KEY UPDATE
"""

# Ends the job. What was not the attempt's fault is not charged.
# Locks: jobs, trials, queue_keys, queue_lanes, queue_caps (by trigger).
FINISH = """
UPDATE jobs SET state = :state, worker_id = NULL, error = :error, finished_at = clock_timestamp(),
  attempt = attempt - :refund, losses = losses + :loss
WHERE id = :id AND epoch = :epoch AND claim_id = :claim_id AND state = 'running'
"""

# Puts the job back, due after a delay. What was not the attempt's fault is not charged. Locks: as FINISH.
RETRY = """
UPDATE jobs SET state = 'scheduled', worker_id = NULL, error = :error,
  run_at = clock_timestamp() + make_interval(secs => :delay_seconds),
  attempt = attempt - :refund, losses = losses + :loss
WHERE id = :id AND epoch = :epoch AND claim_id = :claim_id AND state = 'running'
"""


class StaleClaim(Conflict):
    """The execution no longer owns its job: it was taken for dead, or the job was ended by somebody else."""

    code = "stale_claim"

    def __init__(self, claim: Claim) -> None:
        super().__init__(f"Execution {claim.label} no longer owns its job; what it reports is not recorded.")


def _fence(claim: Claim) -> dict[str, object]:
    return {"id": claim.id, "epoch": claim.epoch, "claim_id": claim.claim_id}


def _charges(cause: RetryCause) -> dict[str, int]:
    return {"refund": 0 if cause == "failed" else 1, "loss": 1 if cause == "lost" else 0}


async def fence(connection: AsyncConnection, claim: Claim) -> str | None:
    """Take the job for this transaction; why it is to be cancelled, None when nobody asked. Raises ``StaleClaim``.

    Every write of an execution happens in a transaction that begins with this.
    """
    row = (await connection.execute(text(FENCE), {**_fence(claim), "by_user": CANCELLED_BY_USER})).one_or_none()
    if row is None:
        raise StaleClaim(claim)
    reason: str | None = row[0]
    return reason


async def finish(
    connection: AsyncConnection,
    claim: Claim,
    state: FinalState,
    *,
    error: str | None = None,
    cause: RetryCause = "failed",
) -> None:
    """End the job; the last statement of a transaction that holds the fence. Raises ``StaleClaim``.

    ``cause`` says whether its last execution is charged: one that reports is.
    """
    result = await connection.execute(
        text(FINISH), {**_fence(claim), "state": state, "error": error, **_charges(cause)}
    )
    if result.rowcount != 1:
        raise StaleClaim(claim)


async def retry(
    connection: AsyncConnection, claim: Claim, *, delay_seconds: float, error: str | None, cause: RetryCause
) -> None:
    """Schedule the job's next execution; the last statement of a transaction that holds the fence.

    Raises ``StaleClaim``.
    """
    result = await connection.execute(
        text(RETRY),
        {
            **_fence(claim),
            "delay_seconds": delay_seconds,
            "error": error,
            **_charges(cause),
        },
    )
    if result.rowcount != 1:
        raise StaleClaim(claim)
