"""Experiments as they are read."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, func, select, true
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.db.tables import experiments, task_experiments, tasks, trials
from oddish.experiments.lookup import experiment_id, no_experiment
from oddish.identity.principal import Principal
from oddish.trials.live import is_live
from oddish.trials.rewards import reward_counts


@dataclass(frozen=True)
class ExperimentSummary:
    """An experiment and its live trials: nothing has replaced them, and they are no probes."""

    id: str
    name: str
    user: str | None
    description: str | None
    link: str | None
    is_collection: bool
    kind: str
    """``gateway``: of one of its jobs; else ``experiment``."""
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


async def get_experiment(connection: AsyncConnection, principal: Principal, reference: str) -> ExperimentSummary:
    """By id, else by name. Raises ``NotFound``."""
    row = (await connection.execute(_summary(principal, reference))).one_or_none()
    if row is None:
        raise no_experiment(reference)
    return ExperimentSummary(**row._mapping)


def _summary(principal: Principal, reference: str) -> Select[Any]:
    counts = (
        select(
            func.count().label("trials"),
            *(
                func.count().filter(trials.c.status == status).label(status)
                for status in ("queued", "running", "retrying", "success", "failed", "skipped")
            ),
            *reward_counts(),
        )
        .where(trials.c.experiment_id == experiments.c.id, is_live())
        .lateral("counts")
    )
    members = (
        select(func.count())
        .select_from(task_experiments.join(tasks, tasks.c.id == task_experiments.c.task_id))
        .where(task_experiments.c.experiment_id == experiments.c.id, tasks.c.deleted_at.is_(None))
        .scalar_subquery()
    )
    return (
        select(
            experiments.c.id,
            experiments.c.name,
            experiments.c.user_name.label("user"),
            experiments.c.description,
            experiments.c.link,
            experiments.c.is_collection,
            experiments.c.kind,
            experiments.c.public_token.is_not(None).label("is_public"),
            experiments.c.created_at,
            experiments.c.last_activity_at,
            members.label("tasks"),
            counts,
        )
        .join(counts, true())
        .where(experiments.c.id == experiment_id(principal, reference))
    )
