"""Tasks and trials as they are read."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from oddish.schemas.base import ResponseBody


class QueueInfo(ResponseBody):
    position: int | None
    ahead: int | None
    queued_count: int | None
    running_count: int | None
    concurrency_limit: int | None
    reason: str | None


class TrialResponse(ResponseBody):
    id: str
    name: str
    task_id: str
    task_path: str | None = None
    task_version: int
    task_version_id: str
    experiment_id: str
    agent: str
    provider: str
    queue_key: str
    model: str | None
    environment: str
    status: str
    origin: str
    attempts: int
    max_attempts: int
    harbor_stage: str | None
    reward: float | None
    rewards: dict[str, Any] | None
    reasons: list[str]
    error_message: str | None
    result: dict[str, Any] | None
    agent_config: dict[str, Any]
    harbor_config: dict[str, Any]
    harbor_sha: str | None = None
    harbor_source: str | None = None
    is_probe: bool
    input_tokens: int | None
    cache_tokens: int | None
    cache_write_tokens: int | None
    output_tokens: int | None
    total_steps: int | None
    total_tool_calls: int | None = None
    tool_counts: dict[str, int] | None = None
    duration_seconds: float | None = Field(None, description="For which the agent worked.")
    cost_usd: float | None
    cost_is_estimated: bool | None
    is_billed: bool | None = None
    phase_timing: dict[str, Any] | None
    has_trajectory: bool
    analysis_status: str | None = None
    analysis: dict[str, Any] | None = None
    analysis_error: str | None = None
    superseded_by_trial_id: str | None
    correlation_id: str | None = Field(None, description="Of the request that made the trial.")
    jobs: list[Any] = Field(default_factory=list)
    queue_info: QueueInfo | None = None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class ExperimentRef(ResponseBody):
    id: str
    name: str


class TaskStatusResponse(ResponseBody):
    id: str
    name: str
    status: str
    priority: str
    user: str | None
    github_username: str | None
    github_meta: dict[str, Any] | None
    link: str | None
    task_path: str | None = None
    experiment_id: str | None
    experiment_name: str | None
    experiment_is_public: bool | None
    experiment_created_at: datetime | None
    experiment_owner: str | None
    experiment_link: str | None
    experiments: list[ExperimentRef]
    current_version: int
    current_version_id: str
    trial_version: int
    trial_version_id: str
    other_version_trials: int = Field(description="Live trials of other versions there, which no count includes.")
    total: int
    completed: int
    failed: int
    skipped: int
    progress: str
    reward_success: int
    reward_sum: float
    reward_total: int
    run_analysis: bool
    run_probe: bool
    verdict_status: str | None = None
    verdict: dict[str, Any] | None = None
    verdict_error: str | None = None
    jobs: list[Any] = Field(default_factory=list)
    trials: list[TrialResponse] | None = None
    user_tags: dict[str, str]
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class ExperimentResponse(ResponseBody):
    """An experiment and the counts of its live trials."""

    id: str
    name: str
    user: str | None
    description: str | None
    link: str | None
    is_collection: bool
    kind: Literal["experiment", "gateway"] = Field(description="`gateway`: made by one of the gateway's jobs.")
    is_public: bool
    created_at: datetime
    last_activity_at: datetime
    tasks: int
    trials: int
    queued: int
    running: int
    retrying: int
    success: int
    failed: int
    skipped: int
    reward_success: int
    reward_sum: float
    reward_total: int
