"""What the trials of each version of a task came to, and what they cost."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import CTE, ColumnElement, and_, func, select, true
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.db.tables import attempts, experiments, task_versions, tasks, trials
from oddish.identity.principal import Principal
from oddish.tasks.versions import LIMIT
from oddish.trials.figures import cost
from oddish.trials.live import is_live
from oddish.trials.queries import UNFINISHED
from oddish.trials.rewards import reward_counts

SHOWN_EXPERIMENTS = 20
COUNTED = (
    "trial_count",
    "completed_count",
    "failed_count",
    "skipped_count",
    "pending_count",
    "pass_count",
    "partial_count",
    "fail_count",
    "reward_sum",
    "reward_total",
    "cost_usd",
    "cost_trial_count",
)


@dataclass(frozen=True)
class Spending:
    """In US dollars. ``cost`` is that of the counted trials, ``billed`` that of everything that was run here."""

    cost_usd: float
    cost_trial_count: int
    cost_has_estimated: bool
    cost_has_native: bool
    billed_cost_usd: float
    billed_trial_count: int


@dataclass(frozen=True)
class VersionRollup(Spending):
    """A version and its live trials."""

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
    pass_count: int
    partial_count: int
    fail_count: int
    reward_sum: float
    reward_total: int
    last_run_at: datetime | None
    experiments: Sequence[Mapping[str, Any]]
    """Some of those with live trials of it: id, name."""


async def list_rollups(connection: AsyncConnection, principal: Principal, task_id: str) -> Sequence[VersionRollup]:
    """The newest first, at most ``LIMIT``; none of a task that is not there."""
    live, spent = _live(task_id), _spent(task_id)
    listed = _experiments()
    statement = (
        select(
            task_versions.c.id,
            task_versions.c.version,
            task_versions.c.message,
            task_versions.c.created_at,
            (task_versions.c.version == tasks.c.current_version).label("is_current"),
            *(func.coalesce(live.c[name], 0).label(name) for name in COUNTED),
            func.coalesce(live.c.cost_has_estimated, False).label("cost_has_estimated"),
            func.coalesce(live.c.cost_has_native, False).label("cost_has_native"),
            func.coalesce(spent.c.billed_cost_usd, 0.0).label("billed_cost_usd"),
            func.coalesce(spent.c.billed_trial_count, 0).label("billed_trial_count"),
            live.c.last_run_at,
            listed.c.experiments,
        )
        .join(tasks, tasks.c.id == task_versions.c.task_id)
        .outerjoin(live, live.c.task_version == task_versions.c.version)
        .outerjoin(spent, spent.c.task_version == task_versions.c.version)
        .join(listed, true())
        .where(tasks.c.id == task_id, tasks.c.org_id == principal.org_id, tasks.c.deleted_at.is_(None))
        .order_by(task_versions.c.version.desc())
        .limit(LIMIT)
    )
    return [VersionRollup(**row._mapping) for row in await connection.execute(statement)]


def total(parts: Iterable[Spending]) -> Spending:
    """Pure."""
    known = list(parts)

    def added(name: str) -> Any:
        values = [getattr(part, name) for part in known]
        return any(values) if name.startswith("cost_has") else sum(values)

    return Spending(**{field.name: added(field.name) for field in fields(Spending)})


def _live(task_id: str) -> CTE:
    def having(*statuses: str) -> ColumnElement[int]:
        return func.count().filter(trials.c.status.in_(statuses))

    passed, zero = trials.c.reward == 1.0, trials.c.reward == 0.0
    success = trials.c.status == "success"
    rewards = {column.name: column for column in reward_counts()}
    estimated = trials.c.cost_is_estimated.is_(True)
    run_at = func.coalesce(trials.c.finished_at, trials.c.started_at, trials.c.created_at)
    return (
        select(
            trials.c.task_version,
            func.count().label("trial_count"),
            having("success").label("completed_count"),
            having("failed").label("failed_count"),
            having("skipped").label("skipped_count"),
            having(*sorted(UNFINISHED)).label("pending_count"),
            rewards["reward_success"].label("pass_count"),
            func.count().filter(success, trials.c.reward.is_not(None), ~passed, ~zero).label("partial_count"),
            func.count().filter(success, zero).label("fail_count"),
            rewards["reward_sum"],
            rewards["reward_total"],
            func.sum(cost()).label("cost_usd"),
            func.count(trials.c.cost_usd).label("cost_trial_count"),
            func.bool_or(estimated).filter(trials.c.cost_usd.is_not(None)).label("cost_has_estimated"),
            func.bool_or(~estimated).filter(trials.c.cost_usd.is_not(None)).label("cost_has_native"),
            func.max(run_at).label("last_run_at"),
        )
        .where(trials.c.task_id == task_id, is_live())
        .group_by(trials.c.task_version)
        .cte("live")
    )


def _spent(task_id: str) -> CTE:
    """Of all attempts: money is gone whatever became of the trial; imported ones cost somebody else something."""
    return (
        select(
            trials.c.task_version,
            func.sum(attempts.c.cost_usd).label("billed_cost_usd"),
            func.count(attempts.c.trial_id.distinct()).label("billed_trial_count"),
        )
        .join(attempts, and_(attempts.c.trial_id == trials.c.id, attempts.c.cost_usd.is_not(None)))
        .where(trials.c.task_id == task_id, trials.c.origin == "oddish")
        .group_by(trials.c.task_version)
        .cte("spent")
    )


def _experiments() -> Any:
    few = (
        select(experiments.c.id, experiments.c.name)
        .join(trials, trials.c.experiment_id == experiments.c.id)
        .where(trials.c.task_version_id == task_versions.c.id, is_live(), experiments.c.deleted_at.is_(None))
        .group_by(experiments.c.id, experiments.c.name, experiments.c.created_at)
        .order_by(experiments.c.created_at.desc(), experiments.c.id)
        .limit(SHOWN_EXPERIMENTS)
        .correlate(task_versions)
        .lateral("few")
    )
    listed = func.jsonb_agg(func.jsonb_build_object("id", few.c.id, "name", few.c.name))
    return select(func.coalesce(listed, func.jsonb_build_array()).label("experiments")).lateral("listed")
