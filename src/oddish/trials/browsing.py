"""Pages of tasks that pass a filter, each with what its trials come to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Select, func, null, select, true
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish import ids
from oddish.browsing import Browse, Filter
from oddish.db.engine import planned_anew
from oddish.db.tables import experiments, task_experiments, task_versions, tasks, trials, users
from oddish.identity.principal import Principal
from oddish.trials.figures import Figures, cost
from oddish.trials.live import is_live
from oddish.trials.matching import asks_for_authors, passes
from oddish.trials.rewards import reward_counts

SHOWN_TRIALS = 10
SHOWN_EXPERIMENTS = 20
ERROR_LENGTH = 500


@dataclass(frozen=True)
class BrowsedTask:
    """A task and the trials of its current version that count: nothing has replaced them, and they are no probes."""

    id: str
    name: str
    current_version: int
    version_count: int
    link: str | None
    github_meta: dict[str, Any] | None
    user_tags: dict[str, str]
    total_trials: int
    completed_trials: int
    failed_trials: int
    reward_success: int
    reward_sum: float
    reward_total: int
    last_run_at: datetime | None
    """When a trial of any version ended last, or started if it still runs."""
    cost_usd: float | None
    cost_trial_count: int
    cost_has_estimated: bool
    cost_has_native: bool
    latest_trials: Sequence[Mapping[str, Any]]
    """The newest first."""
    experiments: Sequence[Mapping[str, Any]]
    """The newest ones: id, name."""

    @property
    def current_version_id(self) -> str:
        return ids.version_id(self.id, self.current_version)


@dataclass(frozen=True)
class Page:
    items: Sequence[BrowsedTask]
    has_more: bool


async def browse(connection: AsyncConnection, principal: Principal, wanted: Browse) -> Page:
    """One page, in one statement."""
    async with planned_anew(connection):
        rows = await connection.execute(_shown(principal, _page(principal, wanted), wanted.sort))
    found = [BrowsedTask(**row._mapping) for row in rows]
    return Page(found[: wanted.limit], len(found) > wanted.limit)


async def count(connection: AsyncConnection, principal: Principal, wanted: Browse) -> int:
    """How many tasks pass, on all pages."""
    figures = Figures(principal)
    condition = passes(principal, wanted.filter, figures)
    statement = select(func.count()).select_from(figures.beside(_source(wanted.filter))).where(condition)
    async with planned_anew(connection):
        return int(await connection.scalar(statement) or 0)


def _source(wanted: Filter) -> FromClause:
    return tasks.join(users, users.c.id == tasks.c.created_by) if asks_for_authors(wanted) else tasks


def _page(principal: Principal, wanted: Browse) -> Select[Any]:
    """The tasks of the page, and one more if there is one."""
    figures = Figures(principal)
    condition = passes(principal, wanted.filter, figures)
    rank, order = _order(wanted.sort, figures)
    return (
        select(
            tasks.c.id,
            tasks.c.name,
            tasks.c.current_version,
            tasks.c.link,
            tasks.c.github_meta,
            tasks.c.tags,
            tasks.c.created_at,
            rank.label("rank"),
        )
        .select_from(figures.beside(_source(wanted.filter)))
        .where(condition)
        .order_by(*order, *_newest(tasks))
        .limit(wanted.limit + 1)
        .offset(wanted.offset)
    )


def _order(sort: str | None, figures: Figures) -> tuple[ColumnElement[Any], list[ColumnElement[Any]]]:
    """What tasks are sorted by before their age, and how."""
    if sort is None:
        return null(), []
    figure, _, way = sort.rpartition("_")
    return figures[figure], [_directed(figures[figure], way)]


def _directed(rank: ColumnElement[Any], way: str) -> ColumnElement[Any]:
    return (rank.asc() if way == "asc" else rank.desc()).nulls_last()


def _newest(task: FromClause) -> list[ColumnElement[Any]]:
    return [task.c.created_at.desc(), task.c.id]


def _shown(principal: Principal, page: Select[Any], sort: str | None) -> Select[Any]:
    task = page.cte("page").prefix_with("MATERIALIZED")
    of_task = [trials.c.org_id == principal.org_id, trials.c.task_id == task.c.id, is_live()]
    of_version = [*of_task, trials.c.task_version == task.c.current_version]
    order = [_directed(task.c.rank, sort.rpartition("_")[2])] if sort is not None else []
    priced = trials.c.cost_usd.is_not(None)
    counts = (
        select(
            func.count().label("total_trials"),
            func.count().filter(trials.c.status == "success").label("completed_trials"),
            func.count().filter(trials.c.status == "failed").label("failed_trials"),
            *reward_counts(),
            func.sum(cost()).label("cost_usd"),
            func.count(trials.c.cost_usd).label("cost_trial_count"),
            func.coalesce(func.bool_or(trials.c.cost_is_estimated).filter(priced), False).label("cost_has_estimated"),
            func.coalesce(func.bool_or(~trials.c.cost_is_estimated).filter(priced), False).label("cost_has_native"),
        )
        .where(*of_version)
        .lateral("counts")
    )
    last_run = select(func.max(func.coalesce(trials.c.finished_at, trials.c.started_at))).where(*of_task)
    versions = select(func.count()).where(task_versions.c.task_id == task.c.id)
    return (
        select(
            task.c.id,
            task.c.name,
            task.c.current_version,
            versions.scalar_subquery().label("version_count"),
            task.c.link,
            task.c.github_meta,
            task.c.tags.label("user_tags"),
            *counts.c,
            last_run.scalar_subquery().label("last_run_at"),
            _latest_trials(task, of_version).label("latest_trials"),
            _experiments(task).label("experiments"),
        )
        .select_from(task.join(counts, true()))
        .order_by(*order, *_newest(task))
    )


def _latest_trials(task: Any, of_version: Sequence[ColumnElement[bool]]) -> Any:
    shown = [trials.c[name] for name in ("id", "name", "status", "reward", "agent", "model")]
    newest = (
        select(*shown, func.left(trials.c.error_message, ERROR_LENGTH).label("error_message"))
        .where(*of_version)
        .order_by(trials.c.trial_index.desc())
        .limit(SHOWN_TRIALS)
        .correlate(task)
        .lateral("newest")
    )
    return _listed(newest)


def _experiments(task: Any) -> Any:
    newest = (
        select(experiments.c.id, experiments.c.name)
        .join(task_experiments, task_experiments.c.experiment_id == experiments.c.id)
        .where(task_experiments.c.task_id == task.c.id, experiments.c.deleted_at.is_(None))
        .order_by(task_experiments.c.created_at.desc(), experiments.c.id)
        .limit(SHOWN_EXPERIMENTS)
        .correlate(task)
        .lateral("linked")
    )
    return _listed(newest)


def _listed(rows: Any) -> Any:
    """The rows as a JSON list of objects, in their order."""
    members = [part for column in rows.c for part in (str(column.name), column)]
    return select(
        func.coalesce(func.json_agg(func.json_build_object(*members)), func.json_build_array())
    ).scalar_subquery()
