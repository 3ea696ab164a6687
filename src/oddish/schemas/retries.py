"""Running trials again."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from oddish.registries import MOST_LOGINS
from oddish.schemas.base import Name, RequestBody, ResponseBody
from oddish.schemas.problem import Problem
from oddish.schemas.submission import RegistryAuth

MOST_TRIALS = 10_000
"""That one request names."""


class RetryOptions(RequestBody):
    """What is not as it was when the trials were submitted."""

    registry_auth: list[RegistryAuth] = Field(
        default_factory=list,
        max_length=MOST_LOGINS,
        description="Logins in the place of the former ones at the same registries; the others are kept.",
    )
    gate_baselines: bool = Field(
        True,
        description="Trials that were submitted behind the baseline gate pass it again: they wait for oracle and nop, "
        "or are `skipped`. False runs them whatever these came to. Others are never gated.",
    )


class RetryRequest(RetryOptions):
    """What shall run again: named trials, or what failed or was skipped of a task or an experiment."""

    trial_ids: Annotated[list[Name], Field(max_length=MOST_TRIALS)] = Field(default_factory=list)
    task_id: Name | None = Field(None, description="Of this task, the trials of its current version.")
    experiment_id: Name | None = Field(
        None, description="Id or name. Of each task, the trials of the version that the experiment shows."
    )

    @model_validator(mode="after")
    def _one_target(self) -> Self:
        if bool(self.trial_ids) + bool(self.task_id) + bool(self.experiment_id) != 1:
            raise ValueError("Name trial_ids, a task_id or an experiment_id, and one of them only.")
        return self


class RetriedTrial(ResponseBody):
    """A trial and the one that has taken its place."""

    trial_id: str
    new_trial_id: str
    task_id: str
    experiment_id: str
    status: str = Field(description="Of the new one: `queued`, or `skipped` where the baseline gate is closed.")


class RefusedTrial(ResponseBody):
    """A trial that does not run again, and the problem document of its refusal."""

    trial_id: str
    error: Problem


class RetryResponse(ResponseBody):
    """Those that run again and those that do not; `queued`, `skipped` and `failed` count them."""

    retried: list[RetriedTrial]
    refused: list[RefusedTrial]
    queued: int
    skipped: int
    failed: int = Field(description="Those that were refused.")
