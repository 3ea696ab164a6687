"""Tasks as they are read: each with the state of its trials, derived at that moment."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    FromClause,
    Integer,
    Select,
    and_,
    bindparam,
    case,
    func,
    literal,
    select,
    true,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish import ids
from oddish.db.tables import experiments, task_experiments, tasks, trials, users
from oddish.experiments.lookup import experiment_called
from oddish.identity.principal import Principal
from oddish.tasks.missing import no_task
from oddish.trials.live import is_live
from oddish.trials.rewards import reward_counts

SHOWN_EXPERIMENTS = 20
_ORG_ID: BindParameter[str] = bindparam("org_id")


@dataclass(frozen=True)
class TaskSummary:
    """A task and the live trials of one version: nothing has replaced them, and they are no probes.

    The version is the current one; of an experiment without trials of that, the newest that has some there.
    """

    id: str
    name: str
    priority: str
    user: str
    github_username: str | None
    github_meta: dict[str, Any] | None
    link: str | None
    user_tags: dict[str, str]
    run_analysis: bool
    run_probe: bool
    current_version: int
    created_at: datetime
    updated_at: datetime
    experiment_id: str | None
    """Of the one that was asked for, else the newest."""
    experiment_name: str | None
    experiment_owner: str | None
    experiment_link: str | None
    experiment_is_public: bool | None
    experiment_created_at: datetime | None
    experiments: Sequence[Mapping[str, Any]]
    """The newest ones: id, name."""
    trial_version: int
    other_version_trials: int
    """Live trials of other versions in the same place, which are in no count here."""
    status: str
    total: int
    completed: int
    failed: int
    skipped: int
    reward_success: int
    reward_sum: float
    reward_total: int
    started_at: datetime | None
    last_finished_at: datetime | None

    @property
    def current_version_id(self) -> str:
        return ids.version_id(self.id, self.current_version)

    @property
    def trial_version_id(self) -> str:
        return ids.version_id(self.id, self.trial_version)

    @property
    def finished_at(self) -> datetime | None:
        return self.last_finished_at if self.status in ("completed", "failed") else None

    @property
    def progress(self) -> str:
        parts = [f"{self.completed}/{self.total} completed"]
        parts += [f"{count} {word}" for count, word in ((self.failed, "failed"), (self.skipped, "skipped")) if count]
        return ", ".join(parts)


@dataclass(frozen=True)
class TaskFilter:
    experiment: str | None = None
    """Id or name."""
    task_id: str | None = None
    status: str | None = None
    user: str | None = None
    name: str | None = None
    """Of the task, exactly."""
    limit: int = 100
    offset: int = 0


async def list_tasks(connection: AsyncConnection, principal: Principal, wanted: TaskFilter) -> Sequence[TaskSummary]:
    """Newest first."""
    given = {name: value for name, value in asdict(wanted).items() if value is not None}
    return await _read(connection, _listing(frozenset(given)), given | {"org_id": principal.org_id})


async def task_in_experiment(
    connection: AsyncConnection, principal: Principal, task_id: str, experiment: str
) -> TaskSummary:
    """The task as it stands in the experiment with that id. Both are there."""
    named = {"org_id": principal.org_id, "task_id": task_id, "experiment_id": experiment}
    return (await _read(connection, _of_one(), named))[0]


async def get_task(connection: AsyncConnection, principal: Principal, task_id: str) -> TaskSummary:
    """Raises ``NotFound``."""
    found = await list_tasks(connection, principal, TaskFilter(task_id=task_id))
    if not found:
        raise no_task(task_id)
    return found[0]


@functools.cache
def _listing(given: frozenset[str]) -> Select[Any]:
    """By what is ``given`` of a ``TaskFilter``. Built once: that takes longer than to execute it."""
    statement = _visible()
    experiment = None
    if "experiment" in given:
        experiment = experiment_called(_ORG_ID, bindparam("experiment"))
        statement = statement.join(
            task_experiments,
            and_(task_experiments.c.task_id == tasks.c.id, task_experiments.c.experiment_id == experiment),
        )
    if "task_id" in given:
        statement = statement.where(tasks.c.id == bindparam("task_id"))
    if "name" in given:
        statement = statement.where(tasks.c.name == bindparam("name"))
    if "user" in given:
        statement = statement.where(func.coalesce(tasks.c.user_name, users.c.name) == bindparam("user"))
    if "status" not in given:
        return _summaries(_page(statement), experiment)
    summaries = _summaries(statement, experiment)
    return _page(summaries.where(summaries.selected_columns.status == bindparam("status")))


def _page(statement: Select[Any]) -> Select[Any]:
    return statement.limit(bindparam("limit", type_=Integer)).offset(bindparam("offset", type_=Integer))


@functools.cache
def _of_one() -> Select[Any]:
    visible = _visible().where(tasks.c.id == bindparam("task_id"))
    return _summaries(visible, bindparam("experiment_id"))


def _visible() -> Select[Any]:
    return (
        select(
            tasks.c.id,
            tasks.c.name,
            tasks.c.priority,
            func.coalesce(tasks.c.user_name, users.c.name).label("user"),
            tasks.c.github_username,
            tasks.c.github_meta,
            tasks.c.link,
            tasks.c.tags.label("user_tags"),
            tasks.c.run_analysis,
            tasks.c.run_probe,
            tasks.c.current_version,
            tasks.c.created_at,
            tasks.c.updated_at,
        )
        .join(users, users.c.id == tasks.c.created_by)
        .where(
            tasks.c.org_id == _ORG_ID,
            tasks.c.deleted_at.is_(None),
            tasks.c.current_version.is_not(None),
        )
        .order_by(tasks.c.created_at.desc(), tasks.c.id)
    )


def _summaries(visible: Select[Any], experiment: Any) -> Select[Any]:
    task = visible.cte("task")
    live: list[ColumnElement[bool]] = [trials.c.org_id == _ORG_ID, trials.c.task_id == task.c.id, is_live()]
    version: ColumnElement[int] = task.c.current_version
    source: FromClause = task
    if experiment is not None:
        live.append(trials.c.experiment_id == experiment)
        tried = func.max(trials.c.task_version)
        shown = func.coalesce(tried.filter(trials.c.task_version == task.c.current_version), tried)
        newest = func.coalesce(shown, task.c.current_version)
        scope = select(newest.label("version")).where(*live).lateral("scope")
        version, source = scope.c.version, task.join(scope, true())
    counts = _counts([*live, trials.c.task_version == version]).lateral("counts")
    others = select(func.count()).where(*live, trials.c.task_version != version).scalar_subquery()
    chosen, all_of_task = _experiments(task, experiment)
    return (
        select(
            task,
            *chosen.c,
            all_of_task.c.experiments,
            version.label("trial_version"),
            others.label("other_version_trials"),
            _status(counts).label("status"),
            *(column for column in counts.c if column.name not in ("waiting", "active")),
        )
        .select_from(source.join(counts, true()).outerjoin(chosen, true()).join(all_of_task, true()))
        .order_by(task.c.created_at.desc(), task.c.id)
    )


def _counts(where: Sequence[ColumnElement[bool]]) -> Select[Any]:
    def having(*statuses: str) -> ColumnElement[int]:
        return func.count().filter(trials.c.status.in_(statuses))

    counts: list[ColumnElement[Any]] = [
        func.count().label("total"),
        having("queued").label("waiting"),
        having("running", "retrying").label("active"),
        having("success").label("completed"),
        having("failed").label("failed"),
        having("skipped").label("skipped"),
        *reward_counts(),
        func.min(trials.c.started_at).label("started_at"),
        func.max(trials.c.finished_at).label("last_finished_at"),
    ]
    return select(*counts).where(*where)


def _status(counts: Any) -> ColumnElement[str]:
    """pending: nothing has started. running: something has, and something is left. Else all trials have ended: failed
    when none of them succeeded, completed otherwise."""
    return case(
        (counts.c.waiting == counts.c.total, literal("pending")),
        (counts.c.waiting + counts.c.active > 0, literal("running")),
        (counts.c.completed == 0, literal("failed")),
        else_=literal("completed"),
    )


def _experiments(task: Any, experiment: Any) -> tuple[Any, Any]:
    of_task = (
        select(
            experiments.c.id.label("experiment_id"),
            experiments.c.name.label("experiment_name"),
            experiments.c.user_name.label("experiment_owner"),
            experiments.c.link.label("experiment_link"),
            experiments.c.public_token.is_not(None).label("experiment_is_public"),
            experiments.c.created_at.label("experiment_created_at"),
        )
        .join(task_experiments, task_experiments.c.experiment_id == experiments.c.id)
        .where(task_experiments.c.task_id == task.c.id, experiments.c.deleted_at.is_(None))
        .order_by(task_experiments.c.created_at.desc(), experiments.c.id)
        .correlate(task)
    )
    chosen = of_task if experiment is None else of_task.where(experiments.c.id == experiment)
    few = of_task.limit(SHOWN_EXPERIMENTS).lateral("few")
    listed = func.jsonb_agg(func.jsonb_build_object("id", few.c.experiment_id, "name", few.c.experiment_name))
    all_of_task = select(func.coalesce(listed, func.jsonb_build_array()).label("experiments"))
    return chosen.limit(1).lateral("chosen"), all_of_task.lateral("listed")


async def _read(
    connection: AsyncConnection, statement: Select[Any], parameters: Mapping[str, Any]
) -> list[TaskSummary]:
    return [TaskSummary(**row) for row in (await connection.execute(statement, parameters)).mappings()]
