"""Tasks as they are browsed, and the values that filters can be given."""

from datetime import datetime
from typing import Any

from pydantic import Field

from oddish.schemas.base import ResponseBody
from oddish.schemas.tasks import ExperimentRef


class BrowsedTrial(ResponseBody):
    id: str
    name: str
    status: str
    reward: float | None
    error_message: str | None = Field(description="Its beginning.")
    agent: str
    model: str | None


class TaskBrowseItem(ResponseBody):
    """A task and what the trials of its current version come to."""

    id: str
    name: str
    current_version: int
    current_version_id: str
    version_count: int
    total_trials: int
    completed_trials: int
    failed_trials: int
    reward_success: int
    reward_sum: float
    reward_total: int
    last_run_at: datetime | None
    link: str | None
    github_meta: dict[str, Any] | None
    cost_usd: float | None
    cost_trial_count: int
    cost_has_estimated: bool
    cost_has_native: bool
    billed_cost_usd: float | None = None
    billed_trial_count: int = 0
    latest_trials: list[BrowsedTrial]
    experiments: list[ExperimentRef]
    user_tags: dict[str, str]


class BrowseResponse(ResponseBody):
    items: list[TaskBrowseItem]
    limit: int
    offset: int
    has_more: bool


class TotalResponse(ResponseBody):
    """How many tasks pass."""

    total: int


class FacetsResponse(ResponseBody):
    """Values by the filter that takes them."""

    tags: list[str]
    author: list[str]
    statuses: list[str]
    priorities: list[str]
    agents: list[str]
    models: list[str]
    agent_models: list[str]
    providers: list[str]
    environments: list[str]
    trial_statuses: list[str]
    origins: list[str]
    tool_names: list[str]
    harbor_stages: list[str]
    harbor_shas: list[str]


class ExperimentOptionsResponse(ResponseBody):
    items: list[ExperimentRef]
