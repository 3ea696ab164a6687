"""What those are told who follow a job. The database writes it, in the transaction that changes the job or a trial."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.gateway.document import job_news, trial_news
from oddish.gateway.jobs import GatewayJob, read
from oddish.gateway.trials import find_trials

CHANNEL = "oddish_gateway"
"""Notifications carry the id of a job of which there is more to tell."""
LAST_EVENT = "job.finished"
TRIAL_ENDED = "trial.finished"
PAGE_LIMIT = 500

PAGE = text("""
SELECT seq, event, data FROM gateway_events WHERE job_id = :job_id AND seq > :after ORDER BY seq LIMIT :limit
""")
LAST = text("SELECT id, last_event FROM gateway_jobs WHERE id = ANY(:job_ids)")


@dataclass(frozen=True)
class Event:
    seq: int
    """Counts from 1 within a job, without gaps."""
    event: str
    """``job.queued``, ``trial.started``, ``trial.phase``, ``trial.finished`` or, at last, ``job.finished``."""
    data: Mapping[str, Any]


async def events_after(
    connection: AsyncConnection, job_id: str, after: int, *, ended_job: GatewayJob | None = None
) -> Sequence[Event]:
    """The next events of a job; those of an end say in short what came of it. ``ended_job``: read already."""
    parameters = {"job_id": job_id, "after": after, "limit": PAGE_LIMIT}
    found = [Event(**row) for row in (await connection.execute(PAGE, parameters)).mappings()]
    return await with_outcomes(connection, job_id, found, ended_job=ended_job)


async def last_events(connection: AsyncConnection, job_ids: Collection[str]) -> dict[str, int]:
    """``seq`` of the last event so far of each job."""
    rows = await connection.execute(LAST, {"job_ids": list(job_ids)})
    return {row.id: row.last_event for row in rows}


async def with_outcomes(
    connection: AsyncConnection, job_id: str, events: Sequence[Event], *, ended_job: GatewayJob | None = None
) -> Sequence[Event]:
    """Trials that were deleted since are told of as they were written down."""
    ended = [str(event.data.get("trial_id")) for event in events if event.event == TRIAL_ENDED]
    over = any(event.event == LAST_EVENT for event in events)
    if not ended and not over:
        return events
    job = ended_job or await read(connection, job_id)
    trials = [found.trial for found in await find_trials(connection, job_id, only=None if over else ended)]
    news = {trial.id: trial_news(job, trial) for trial in trials if trial.facts is not None}

    def told(event: Event) -> Event:
        if event.event == LAST_EVENT:
            return replace(event, data={**event.data, **job_news(job, trials)})
        if event.event == TRIAL_ENDED:
            return replace(event, data={**event.data, **news.get(str(event.data.get("trial_id")), {})})
        return event

    return [told(event) for event in events]
