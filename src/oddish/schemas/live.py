"""What a trial says and does while it runs."""

from datetime import datetime
from typing import Any

from pydantic import Field

from oddish.schemas.base import ResponseBody


class LiveEvent(ResponseBody):
    seq: int = Field(description="Counts from 1 within an attempt.")
    kind: str = Field(description="`message`, `tool_use`, `tool_result` or `summary`.")
    payload: dict[str, Any]
    created_at: datetime


class LiveUsage(ResponseBody):
    """What the attempt took so far; null where nothing is known of it."""

    input_tokens: int | None = Field(description="All of the input, also what was read from or written to a cache.")
    cache_tokens: int | None
    cache_write_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    cost_is_estimated: bool | None


class LiveState(ResponseBody):
    attempt: int = Field(description="The current one.")
    usage: LiveUsage
    harbor_stage: str | None
    done: bool = Field(description="The trial has ended; what is to be read of it is read when a page is empty too.")


class LivePage(LiveState):
    """The next events of the current attempt."""

    events: list[LiveEvent]
    next_seq: int = Field(description="`after_seq` of the call for the next page.")
