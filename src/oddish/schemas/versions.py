"""The versions of a task: what they hold and what their trials came to."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from oddish.schemas.base import ResponseBody
from oddish.schemas.tasks import ExperimentRef, TaskStatusResponse


class TaskVersionResponse(ResponseBody):
    id: str
    task_id: str
    version: int
    task_path: str
    task_s3_key: str
    content_hash: str
    message: str | None
    created_by_user_id: str
    created_at: datetime
    is_current: bool


class Spending(ResponseBody):
    """Costs in US dollars, of trials that have one."""

    cost_usd: float = Field(description="Of the trials that are counted.")
    cost_trial_count: int
    cost_has_estimated: bool
    cost_has_native: bool
    billed_cost_usd: float = Field(
        description="Of every attempt that was run here, also of probes and replaced trials."
    )
    billed_trial_count: int


class VersionSummary(Spending):
    """A version and its live trials: nothing has replaced them, and they are no probes."""

    id: str
    version: int
    message: str | None
    created_at: datetime
    is_current: bool
    trial_count: int
    completed_count: int
    failed_count: int
    skipped_count: int
    pending_count: int
    pass_count: int = Field(description="Reward exactly 1.")
    partial_count: int = Field(description="Another reward than 0 and 1.")
    fail_count: int = Field(description="Reward exactly 0.")
    reward_sum: float
    reward_total: int
    last_run_at: datetime | None
    user_tags: dict[str, str] = Field(default_factory=dict)
    experiments: list[ExperimentRef]


class Totals(Spending):
    total_trials: int


class TaskDetail(ResponseBody):
    task: TaskStatusResponse
    versions: list[VersionSummary]
    totals: Totals


class TaskFile(ResponseBody):
    path: str
    size: int
    sha256: str
    executable: bool


class TaskFiles(ResponseBody):
    task_id: str
    version: int
    content_hash: str
    files: list[TaskFile] = Field(description="Empty when there is an `archive_url`.")
    cursor: str | None = Field(description="Continues the listing; null at its end.")
    archive_url: str | None = Field(None, description="Signed, for an hour: the whole version as .tar.gz.")
    archive_bytes: int


class TaskFileContent(ResponseBody):
    path: str
    size: int
    sha256: str
    content: str
    encoding: Literal["utf-8", "base64"]
    truncated: bool = Field(description="The file is longer than `max_bytes`.")
