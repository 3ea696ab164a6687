"""The JSON of what was spent, as far as the client reads it. Costs are US dollars."""

from typing import TypedDict


class Spend(TypedDict):
    cost_usd: float
    cost_estimated_usd: float
    trial_count: int
    attempt_count: int
    unpriced_attempt_count: int
    unreported_attempt_count: int


class SeriesBucket(TypedDict):
    bucket_start: str
    cost_usd: float
    trial_count: int
    unpriced_attempt_count: int
    unreported_attempt_count: int
    costs: dict[str, float]


class CostSeries(TypedDict):
    dimension: str
    keys: list[str]
    buckets: list[SeriesBucket]


class TokenTotals(Spend):
    tokens: int
    input_tokens: int
    cache_tokens: int
    cache_write_tokens: int
    output_tokens: int
    cost_native_usd: float
    experiment_count: int
    inflight_trial_count: int


class CostTotals(TokenTotals):
    user_count: int
    qa_cost_usd: float
    prev_cost_usd: float | None
    month_cost_usd: float
    month_budget_usd: float | None


class UserTotals(TokenTotals):
    task_count: int


class AgentCost(Spend):
    agent: str


class ModelCost(Spend):
    model: str | None
    provider: str


class UserCost(Spend):
    owner_user_id: str
    name: str
    email: str | None
    models: list[ModelCost]
    inflight_trial_count: int


class ExperimentCost(Spend):
    experiment_id: str
    experiment_name: str


class TaskCost(Spend):
    task_id: str
    task_name: str


class UnknownCost(TypedDict):
    agent: str
    model: str | None
    provider: str
    reason: str
    attempt_count: int


class Costs(TypedDict):
    window_days: int
    window_start: str | None
    bucket: str
    totals: CostTotals
    series_by_agent: CostSeries
    series_by_model: CostSeries
    series_by_user: CostSeries
    by_user: list[UserCost]
    by_agent: list[AgentCost]
    by_model: list[ModelCost]
    experiments: list[ExperimentCost]
    unknown: list[UnknownCost]
    timestamp: str


class UserCosts(TypedDict):
    billed_user_id: str
    name: str
    email: str | None
    window_days: int
    window_start: str | None
    bucket: str
    totals: UserTotals
    series_by_agent: CostSeries
    series_by_model: CostSeries
    by_agent: list[AgentCost]
    by_model: list[ModelCost]
    experiments: list[ExperimentCost]
    tasks: list[TaskCost]
    unknown: list[UnknownCost]
    timestamp: str
