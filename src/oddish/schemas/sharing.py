"""Sharing an experiment, and what is shown of it to whoever has the link.

What is shown is named member by member: configurations, messages of errors, owners, labels, other experiments and
everything that analyses say stay inside.
"""

from datetime import datetime
from typing import Any

from oddish.schemas.base import ResponseBody


class ShareResponse(ResponseBody):
    """Whether an experiment is published, and the token of its link."""

    id: str
    name: str
    is_public: bool
    public_token: str | None
    description: str | None


class PublicExperimentResponse(ResponseBody):
    name: str
    public_token: str
    description: str | None
    created_at: datetime


class PublicTaskResponse(ResponseBody):
    """A task of the experiment and the counts of its trials there."""

    id: str
    name: str
    status: str
    trial_version: int
    total: int
    completed: int
    failed: int
    skipped: int
    progress: str
    reward_success: int
    reward_sum: float
    reward_total: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class PublicTrialResponse(ResponseBody):
    id: str
    name: str
    task_id: str
    task_version: int
    agent: str
    provider: str
    model: str | None
    environment: str
    status: str
    attempts: int
    max_attempts: int
    harbor_stage: str | None
    reward: float | None
    rewards: dict[str, Any] | None
    input_tokens: int | None
    cache_tokens: int | None
    cache_write_tokens: int | None
    output_tokens: int | None
    total_steps: int | None
    cost_usd: float | None
    cost_is_estimated: bool | None
    phase_timing: dict[str, Any] | None
    has_trajectory: bool
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
