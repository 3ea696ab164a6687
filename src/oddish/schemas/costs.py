"""What was spent. All costs are US dollars; what nobody knows the price of is in none of them and counted apart."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from oddish.schemas.base import ResponseBody


class Spend(ResponseBody):
    cost_usd: float
    cost_estimated_usd: float = Field(description="The part of it that was worked out from tokens and prices.")
    trial_count: int = Field(description="Trials whose first attempt ended, or runs, in this time.")
    attempt_count: int = Field(description="Attempts that ended, or run, in this time.")
    unpriced_attempt_count: int = Field(description="Of these: used tokens whose price is not known.")
    unreported_attempt_count: int = Field(description="Of these: had an agent that did not say what it used.")


class SeriesBucket(ResponseBody):
    bucket_start: datetime
    cost_usd: float
    trial_count: int
    unpriced_attempt_count: int
    unreported_attempt_count: int
    costs: dict[str, float] = Field(description="By key; a key that nothing was spent on is left out.")


class CostSeries(ResponseBody):
    dimension: str
    keys: list[str] = Field(
        description="The most expensive first: 20 at most, then `other`, which is all the rest. Users go by their ids."
    )
    buckets: list[SeriesBucket]


class TokenTotals(Spend):
    tokens: int = Field(description="Input and output.")
    input_tokens: int = Field(description="Those read from and written to a cache included.")
    cache_tokens: int = Field(description="Read from a cache.")
    cache_write_tokens: int
    output_tokens: int
    cost_native_usd: float = Field(description="The part of `cost_usd` that agents reported.")
    experiment_count: int
    inflight_trial_count: int = Field(description="Trials that run now; their costs so far are included.")


class CostTotals(TokenTotals):
    user_count: int
    qa_cost_usd: float = Field(description="Spent on analyses.")
    prev_cost_usd: float | None = Field(description="Of the window before this one, as long; null for all time.")
    month_cost_usd: float = Field(description="Of this calendar month, UTC.")
    month_budget_usd: float | None = Field(description="Null where no budget is set.")


class UserTotals(TokenTotals):
    task_count: int


class ModelCost(Spend):
    model: str | None = Field(
        description="As the trials name it; of attempts whose cost is not known, one that has no price. Null where an "
        "agent has a model of its own, or none."
    )
    provider: str


class AgentCost(Spend):
    agent: str


class UserCost(Spend):
    key: str
    owner_user_id: str
    label: str
    name: str
    email: str | None
    models: list[ModelCost]
    inflight_trial_count: int
    quota_spent: float | None = Field(description="Null where no quota is set.")
    quota_limit: float | None
    has_unbilled_spend: bool = Field(description="Something was used that is not in `cost_usd`.")


class ExperimentCost(Spend):
    experiment_id: str
    experiment_name: str


class TaskCost(Spend):
    task_id: str
    task_name: str


class UnknownCost(ResponseBody):
    """Attempts whose cost nobody knows, by what they ran."""

    agent: str
    model: str | None
    provider: str
    reason: Literal["no_price", "no_usage"] = Field(
        description="`no_price`: tokens of a model without a price; `no_usage`: the agent did not say what it used."
    )
    attempt_count: int


class Costs(ResponseBody):
    """What the organisation's attempts have spent: all of them, those of replaced, failed, deleted and probe trials
    included; of imported trials none. Lists are sorted by cost."""

    window_days: int
    window_start: datetime | None = Field(description="The beginning of an hour; null for all time.")
    bucket: Literal["hour", "day", "week"]
    totals: CostTotals
    series_by_agent: CostSeries
    series_by_model: CostSeries
    series_by_user: CostSeries
    series_by_type: CostSeries = Field(description="`trial`, and `analysis` where there are any.")
    series_qa_by_model: CostSeries
    series_qa_by_analysis_type: CostSeries
    by_user: list[UserCost]
    by_agent: list[AgentCost]
    by_model: list[ModelCost]
    qa_by_model: list[ModelCost]
    experiments: list[ExperimentCost] = Field(description="At most 50; `totals.experiment_count` counts all.")
    unknown: list[UnknownCost]
    timestamp: datetime


class UserCosts(ResponseBody):
    """What the attempts at one user's trials have spent; otherwise as the costs of the organisation."""

    billed_user_id: str
    name: str
    email: str | None
    window_days: int
    window_start: datetime | None
    bucket: Literal["hour", "day", "week"]
    totals: UserTotals
    series_by_agent: CostSeries
    series_by_model: CostSeries
    by_agent: list[AgentCost]
    by_model: list[ModelCost]
    experiments: list[ExperimentCost]
    tasks: list[TaskCost] = Field(description="At most 100; `totals.task_count` counts all.")
    unknown: list[UnknownCost]
    timestamp: datetime
