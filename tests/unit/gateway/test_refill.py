"""Which job makes up for the trials of another one that raised."""

from dataclasses import replace
from typing import Any

import pytest

from oddish.gateway.document import JobTrial
from oddish.gateway.refill import JobUnfinished, NothingErrored, NotRefillable, plan_refill
from oddish.outcome import AttemptFacts, RecordedException

from .test_document import QUEUED, SOLVED, ended, trial


def raised(*names: str, reward: float | None = None) -> JobTrial:
    exceptions = tuple(RecordedException(name, "", None) for name in names)
    return trial(AttemptFacts("done", rewards={"reward": 1.0} if reward else None, exceptions=exceptions))


def test_as_many_as_raised_are_run_again_even_those_with_a_reward() -> None:
    trials = [raised("RateLimitError", "ApiError"), trial(SOLVED), raised("AgentTimeoutError", reward=1.0)]
    found = plan_refill(ended("succeeded", pass_at_k=3), trials)
    assert (found.pass_at_k, found.retried_exceptions) == (2, ["AgentTimeoutError", "ApiError", "RateLimitError"])


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"agents": QUEUED.agents * 2}, NotRefillable),
        ({"request": None}, NotRefillable),
        ({"kind": "verify"}, NotRefillable),
        ({"status": "running"}, JobUnfinished),
    ],
    ids=["several agents", "no request", "a verification", "unfinished"],
)
def test_a_job_that_cannot_be_refilled_says_why(changes: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match="gw_1"):
        plan_refill(replace(ended("failed"), **changes), [raised("ApiError")])


def test_a_job_of_which_nothing_raised_is_not_refilled() -> None:
    with pytest.raises(NothingErrored, match="No trial of job 'gw_1' raised"):
        plan_refill(ended("succeeded"), [trial(SOLVED)])
