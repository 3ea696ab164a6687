"""Making up for the trials of a job that raised: which job takes their place. Pure.

The job that they are of stays as it is; callers put the two together.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from oddish.errors import Conflict, InvalidInput
from oddish.gateway.document import JobTrial
from oddish.gateway.jobs import GatewayJob


class JobUnfinished(Conflict):
    """A job whose trials have not all ended."""

    code = "job_unfinished"


class NotRefillable(InvalidInput):
    """A job that no other one makes up for: of several agents, of none, or of a release that kept no request."""

    code = "not_refillable"


class NothingErrored(InvalidInput):
    """A job of which no trial raised."""

    code = "nothing_errored"


@dataclass(frozen=True)
class Refill:
    """What is to be done again."""

    pass_at_k: int
    """As many as raised."""
    retried_exceptions: Sequence[str]
    """Class names, each once, sorted."""


def plan_refill(job: GatewayJob, trials: Sequence[JobTrial]) -> Refill:
    """Raises ``JobUnfinished``, ``NotRefillable`` or ``NothingErrored``."""
    if job.kind != "execute":
        raise NotRefillable(
            f"Job {job.id!r} verifies a task; trials of agents alone are made up for.",
            fix="Verify the task again: POST /sandbox/harbor/v2/jobs/verify-task.",
        )
    if job.request is None:
        raise NotRefillable(
            f"Nothing is kept of what was asked for with job {job.id!r}.",
            fix="Ask for a new job: POST /sandbox/harbor/v2/jobs/execute-tasks.",
        )
    if len(job.agents) != 1:
        raise NotRefillable(
            f"Job {job.id!r} has {len(job.agents)} agents; only jobs of one agent are refilled.",
            fix="Ask for a new job with the agent whose trials raised.",
        )
    if job.unfinished:
        raise JobUnfinished(f"Job {job.id!r} is {job.status}.", fix="Wait for its end, or cancel it.")
    raised = [trial.facts.raised for trial in trials if trial.facts is not None and trial.facts.raised]
    if not raised:
        raise NothingErrored(
            f"No trial of job {job.id!r} raised.",
            fix="Look at `error` and `outcome` of the job.",
        )
    names = {exception.type for exceptions in raised for exception in exceptions}
    return Refill(len(raised), sorted(names))
