"""What was spent, by the organisation and by each of its users."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Query

from oddish.accounting import series as drawn
from oddish.accounting.series import Series, series
from oddish.accounting.shares import Breakdown, Share, added
from oddish.accounting.spend import find_user, read_breakdown, read_periods, read_tasks
from oddish.accounting.sums import Sums
from oddish.accounting.window import Window
from oddish.api.authentication import PrincipalOf
from oddish.api.routing import router as new_router
from oddish.api.services import ServicesOf
from oddish.schemas.costs import (
    AgentCost,
    Costs,
    CostSeries,
    CostTotals,
    ExperimentCost,
    ModelCost,
    SeriesBucket,
    TaskCost,
    UnknownCost,
    UserCost,
    UserCosts,
    UserTotals,
)

type WindowDays = Annotated[
    int, Query(ge=0, le=3650, description="Length of the time until now, from the beginning of an hour; 0 is all time.")
]

router = new_router()


@router.get("/admin/costs", tags=["admin"])
async def costs(principal: PrincipalOf, services: ServicesOf, window_days: WindowDays = 7) -> Costs:
    """What all attempts of the organisation have spent, and on what."""
    window = Window(window_days, datetime.now(UTC))
    async with services.reads.connect() as connection:
        found = await read_breakdown(connection, window, org_id=principal.org_id)
        periods = await read_periods(connection, window, org_id=principal.org_id)
    by_user = _by_user(found.by_model_and_user)
    totals = _totals(found)
    return Costs(
        **_window(window),
        totals=CostTotals(
            **totals,
            user_count=len(by_user),
            qa_cost_usd=0.0,
            prev_cost_usd=periods.previous if window.days else None,
            month_cost_usd=periods.month,
            month_budget_usd=None,
        ),
        **_series(window, found),
        series_by_user=_drawn(series(window, "user", found.by_user_and_bucket, drawn.user_key)),
        series_by_type=_drawn(series(window, "type", found.by_agent_and_bucket, drawn.type_key)),
        series_qa_by_model=_drawn(drawn.empty("model")),
        series_qa_by_analysis_type=_drawn(drawn.empty("analysis_type")),
        by_user=by_user,
        **_rankings(found),
        qa_by_model=[],
    )


@router.get("/admin/costs/users/{user}", tags=["admin"])
async def user_costs(user: str, principal: PrincipalOf, services: ServicesOf, window_days: WindowDays = 7) -> UserCosts:
    """What the attempts at one user's trials have spent. Users go by their id or their name."""
    window = Window(window_days, datetime.now(UTC))
    async with services.reads.connect() as connection:
        who = await find_user(connection, user, org_id=principal.org_id)
        found = await read_breakdown(connection, window, org_id=principal.org_id, user_id=who.id)
        tasks = await read_tasks(connection, window, org_id=principal.org_id, user_id=who.id)
    return UserCosts(
        billed_user_id=who.id,
        name=who.name,
        email=who.email,
        **_window(window),
        totals=UserTotals(**_totals(found), task_count=tasks.found),
        **_series(window, found),
        **_rankings(found),
        tasks=[TaskCost(task_id=one.id, task_name=one.name, **_spend(one.sums)) for one in tasks.shown],
    )


def _window(window: Window) -> dict[str, Any]:
    return {
        "window_days": window.days,
        "window_start": window.start if window.days else None,
        "bucket": window.bucket,
        "timestamp": window.now,
    }


def _spend(sums: Sums) -> dict[str, Any]:
    return {
        "cost_usd": sums.cost_usd,
        "cost_estimated_usd": sums.estimated_cost_usd,
        "trial_count": sums.trials,
        "attempt_count": sums.attempts,
        "unpriced_attempt_count": sums.unpriced,
        "unreported_attempt_count": sums.unreported,
    }


def _totals(found: Breakdown) -> dict[str, Any]:
    sums = sum((share.sums for share in found.by_model_and_agent), Sums())
    return _spend(sums) | {
        "tokens": sums.tokens,
        "input_tokens": sums.input_tokens,
        "cache_tokens": sums.cache_tokens,
        "cache_write_tokens": sums.cache_write_tokens,
        "output_tokens": sums.output_tokens,
        "cost_native_usd": sums.reported_cost_usd,
        "experiment_count": found.experiments.found,
        "inflight_trial_count": sums.running,
    }


def _series(window: Window, found: Breakdown) -> dict[str, CostSeries]:
    return {
        "series_by_agent": _drawn(series(window, "agent", found.by_agent_and_bucket, drawn.agent_key)),
        "series_by_model": _drawn(series(window, "model", found.by_model_and_bucket, drawn.model_key)),
    }


def _drawn(made: Series) -> CostSeries:
    return CostSeries(
        dimension=made.dimension,
        keys=list(made.keys),
        buckets=[
            SeriesBucket(
                bucket_start=step.start,
                cost_usd=step.sums.cost_usd,
                trial_count=step.sums.trials,
                unpriced_attempt_count=step.sums.unpriced,
                unreported_attempt_count=step.sums.unreported,
                costs=dict(step.costs),
            )
            for step in made.steps
        ],
    )


def _rankings(found: Breakdown) -> dict[str, Any]:
    shares = found.by_model_and_agent
    return {
        "by_agent": [
            AgentCost(agent=agent, **_spend(sums)) for agent, sums in _added(shares, lambda share: share.agent).items()
        ],
        "by_model": _by_model(shares),
        "experiments": [
            ExperimentCost(experiment_id=one.id, experiment_name=one.name, **_spend(one.sums))
            for one in found.experiments.shown
        ],
        "unknown": _unknown(shares),
    }


def _by_model(shares: Sequence[Share]) -> list[ModelCost]:
    return [
        ModelCost(model=model.name, provider=model.provider, **_spend(sums))
        for model, sums in _added(shares, lambda share: share.model).items()
    ]


def _by_user(shares: Sequence[Share]) -> list[UserCost]:
    return [
        UserCost(
            key=user.id,
            owner_user_id=user.id,
            label=user.name,
            name=user.name,
            email=user.email,
            **_spend(sums),
            models=_by_model([share for share in shares if share.user == user]),
            inflight_trial_count=sums.running,
            quota_spent=None,
            quota_limit=None,
            has_unbilled_spend=sums.unpriced + sums.unreported > 0,
        )
        for user, sums in _added(shares, lambda share: share.user).items()
    ]


def _unknown(shares: Sequence[Share]) -> list[UnknownCost]:
    found = [
        UnknownCost(
            agent=share.agent, model=share.model.name, provider=share.model.provider, reason=reason, attempt_count=count
        )
        for share in shares
        if share.agent is not None and share.model is not None
        for reason, count in (("no_price", share.sums.unpriced), ("no_usage", share.sums.unreported))
        if count
    ]
    return sorted(found, key=lambda one: (-one.attempt_count, one.agent, one.model or ""))


def _added[Key: Hashable](shares: Sequence[Share], key: Callable[[Share], Key | None]) -> Mapping[Key, Sums]:
    """What each part of a breakdown that has them came to."""
    return {part: sums for part, sums in added(shares, key).items() if part is not None}
