"""How busy a deployment is."""

from pydantic import Field

from oddish.schemas.base import ResponseBody


class Totals(ResponseBody):
    """Unfinished trials of the caller's organisation."""

    queued: int
    running: int
    retrying: int


class QueueLoad(Totals):
    key: str
    limit: int
    paused: bool


class WorkersLoad(ResponseBody):
    alive: int


class Load(ResponseBody):
    submit_ceiling: int = Field(description="Submissions that one client should have under way at most.")
    pressure: float = Field(description="How busy the server is, from 0 to 1.")
    ttl: int = Field(description="Seconds for which the answer may be used.")
    totals: Totals
    queues: list[QueueLoad]
    workers: WorkersLoad
