"""What trials are for that a job of the gateway asks for."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Commission:
    """One agent of a job. Its trials are new, whatever there is, and share the organisation's quota of the gateway."""

    job_id: str
    agent: str
    """As the caller has named it."""
    max_running: int
    """How many of its trials run at once."""
    is_probe: bool = False
    """They look at the task and are no attempts at it, so that they count for nothing among its trials."""
