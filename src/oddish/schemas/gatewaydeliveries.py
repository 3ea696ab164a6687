"""What became of the messages to a job's callbacks."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from oddish.schemas.base import ResponseBody


class DeliveryAttempt(ResponseBody):
    """One attempt to send one message."""

    kind: Literal["notifications", "deliver", "writeback"]
    url: str = Field(description="Without path and query, which may be credentials.")
    event: str
    event_seq: int = Field(description="The event's number in the stream of the job.")
    attempt: int = Field(description="At this message; counts from 1.")
    result: Literal["delivered", "postponed", "failed"] = Field(
        description="`postponed`: it is tried again; `failed`: it was refused, or given up."
    )
    status: int | None = Field(description="Of the answer; null where there was none.")
    error: str | None
    seconds: float
    ended_at: datetime


class JobDeliveries(ResponseBody):
    """The latest attempts, the newest first."""

    job_id: str
    deliveries: list[DeliveryAttempt]
