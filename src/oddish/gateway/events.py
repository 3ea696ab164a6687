"""What those are told who follow a job. The database writes it, in the transaction that changes the job or a trial."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

CHANNEL = "oddish_gateway"
"""Notifications carry the id of a job of which there is more to tell."""
LAST_EVENT = "job.finished"
PAGE_LIMIT = 500

PAGE = text("""
SELECT seq, event, data FROM gateway_events WHERE job_id = :job_id AND seq > :after ORDER BY seq LIMIT :limit
""")


@dataclass(frozen=True)
class Event:
    seq: int
    """Counts from 1 within a job, without gaps."""
    event: str
    """``job.queued``, ``trial.started``, ``trial.phase``, ``trial.finished`` or, at last, ``job.finished``."""
    data: Mapping[str, Any]


async def events_after(
    connection: AsyncConnection, job_id: str, after: int, *, limit: int = PAGE_LIMIT
) -> Sequence[Event]:
    """The next events of a job."""
    parameters = {"job_id": job_id, "after": after, "limit": limit}
    return [Event(**row) for row in (await connection.execute(PAGE, parameters)).mappings()]
