"""Recording: the fenced commit of what an attempt came to."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import func, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.db.tables import attempts, trials
from oddish.outcome import Outcome
from oddish.queue.cancel import CANCELLED_BY_USER
from oddish.queue.claim import Claim
from oddish.queue.finish import fence, finish, retry
from oddish.queue.policy import retry_delay
from oddish.trials.ledger import Spending, figures, settle

# Moves the stage of a running attempt and its trial. Locks: attempts, trials.
STAGE = """
WITH moved AS (
  UPDATE attempts SET stage = :stage
  WHERE trial_id = :trial_id AND epoch = :epoch AND claim_id = :claim_id AND state = 'running' RETURNING trial_id
)
UPDATE trials SET harbor_stage = :stage FROM moved WHERE trials.id = moved.trial_id
"""


@dataclass(frozen=True)
class Report:
    """What an attempt came to, as facts for the record."""

    failure: dict[str, object] | None = None
    """The deciding exception: type, message, phase, occurred_at."""
    facts: Mapping[str, object] = field(default_factory=dict)
    """Everything read from the trial directory, as JSON."""
    rewards: Mapping[str, float] | None = None
    result: Mapping[str, object] | None = None
    """The task's metrics and, under ``_verifier``, the counts of its test report."""
    phase_timing: Mapping[str, object] | None = None
    spending: Spending = field(default_factory=Spending)
    total_steps: int | None = None
    total_tool_calls: int | None = None
    tool_counts: Mapping[str, int] | None = None
    """By the name of the tool; None where nothing is known of them."""
    duration_seconds: float | None = None
    """For which the agent worked."""
    has_trajectory: bool = False
    artifact_prefix: str | None = None
    artifact_files: int = 0
    artifact_bytes: int = 0


async def record_stage(connection: AsyncConnection, claim: Claim, stage: str) -> None:
    """Show how far a running attempt is; ignored when it no longer owns its job."""
    await connection.execute(
        text(STAGE),
        {"stage": stage, "trial_id": claim.subject_id, "epoch": claim.epoch, "claim_id": claim.claim_id},
    )


async def record_outcome(
    connection: AsyncConnection, claim: Claim, outcome: Outcome, report: Report, *, rng: random.Random
) -> None:
    """Record the attempt, and end its trial or schedule the next attempt, in the caller's transaction.

    A cancel that was asked for before this moment wins: the attempt stays as evidence and the trial is cancelled. What
    a trial shows is what its last attempt came to, so one that runs again shows its error and what it has spent only.
    Raises ``StaleClaim`` when the execution no longer owns its job; nothing is recorded then.
    """
    asked = await fence(connection, claim)
    cancelled = asked is not None or outcome.status == "cancelled"
    again = outcome.retry if outcome.retry in ("backoff", "rate_limit") and claim.attempt < claim.max_attempts else None
    message = (asked or CANCELLED_BY_USER) if cancelled else error_message(outcome, report)
    spent = await settle(connection, claim, report.spending)
    await connection.execute(
        update(attempts)
        .where(attempts.c.trial_id == claim.subject_id, attempts.c.epoch == claim.epoch)
        .values(**ending(outcome, report, cancelled=cancelled), finished_at=func.clock_timestamp())
    )
    shown: dict[str, object] = figures(spent) | {
        "error_message": message,
        "harbor_stage": "cancelled" if cancelled else final_stage(outcome),
    }
    if again is None or cancelled:
        shown |= projection(claim.epoch, outcome, report)
    await connection.execute(update(trials).where(trials.c.id == claim.subject_id).values(shown))
    if cancelled:
        await finish(connection, claim, "cancelled", error=message)
    elif outcome.usable:
        await finish(connection, claim, "done")
    elif again is not None:
        delay = retry_delay(again, claim.attempt, retry_after=outcome.retry_after_sec, rng=rng)
        await retry(connection, claim, delay_seconds=delay, error=message, cause="failed")
    else:
        await finish(connection, claim, "failed", error=message)


def ending(outcome: Outcome, report: Report, *, cancelled: bool) -> dict[str, object]:
    """What an attempt that has ended shows."""
    return {
        "state": "cancelled" if cancelled else "finished",
        "status": "cancelled" if cancelled else outcome.status,
        "stage": "cancelled" if cancelled else "completed",
        "reasons": list(outcome.reasons),
        "failure": report.failure,
        "facts": dict(report.facts),
        "artifact_prefix": report.artifact_prefix,
        "artifact_files": report.artifact_files,
        "artifact_bytes": report.artifact_bytes,
    }


def projection(epoch: int, outcome: Outcome, report: Report) -> dict[str, object]:
    """What a trial shows of the attempt that decided it."""
    return {
        "decided_by_epoch": epoch,
        "reward": outcome.reward,
        "rewards": dict(report.rewards) if report.rewards else None,
        "result": None if report.result is None else dict(report.result),
        "reasons": list(outcome.reasons),
        "total_steps": report.total_steps,
        "total_tool_calls": report.total_tool_calls,
        "tool_counts": None if report.tool_counts is None else dict(report.tool_counts),
        "duration_seconds": report.duration_seconds,
        "phase_timing": dict(report.phase_timing) if report.phase_timing else None,
        "has_trajectory": report.has_trajectory,
    }


def final_stage(outcome: Outcome) -> str:
    """Of an attempt that nobody cancelled."""
    return "image_build_failed" if "image_build_failed" in outcome.reasons else "completed"


def error_message(outcome: Outcome, report: Report) -> str | None:
    """The deciding exception, else why the attempt is not usable."""
    if report.failure is not None:
        return f"{report.failure['type']}: {report.failure['message']}".strip().removesuffix(":")
    return None if outcome.usable else ", ".join(outcome.reasons)
