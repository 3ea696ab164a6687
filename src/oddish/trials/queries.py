"""Trials as they are read."""

import functools
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Select, and_, bindparam, case, select
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.db.tables import attempts, tasks, trials
from oddish.errors import NotFound
from oddish.experiments.lookup import experiment_id
from oddish.identity.principal import Principal
from oddish.tasks.missing import no_task
from oddish.trials.ledger import FIGURES
from oddish.trials.live import is_live

UNFINISHED = frozenset({"queued", "running", "retrying"})


class Trial(NamedTuple):
    """A trial without its secrets; the members are columns, read in this order."""

    id: str
    name: str
    task_id: str
    task_version: int
    task_version_id: str
    experiment_id: str
    trial_index: int
    agent: str
    model: str | None
    provider: str
    queue_key: str
    environment: str
    agent_config: dict[str, Any]
    harbor_config: dict[str, Any]
    origin: str
    is_probe: bool
    status: str
    attempts: int
    max_attempts: int
    harbor_stage: str | None
    reward: float | None
    rewards: dict[str, Any] | None
    result: dict[str, Any] | None
    reasons: list[str]
    error_message: str | None
    input_tokens: int | None
    cache_tokens: int | None
    cache_write_tokens: int | None
    output_tokens: int | None
    total_steps: int | None
    total_tool_calls: int | None
    tool_counts: dict[str, int] | None
    duration_seconds: float | None
    cost_usd: float | None
    cost_is_estimated: bool | None
    phase_timing: dict[str, Any] | None
    has_trajectory: bool
    superseded_by_trial_id: str | None
    correlation_id: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None

    @property
    def harbor_source(self) -> str | None:
        """Where another Harbor than the workers' own came from, if one ran the trial."""
        return self.harbor_config.get("source")

    @property
    def harbor_sha(self) -> str | None:
        """Its commit, or its version if it is a release of the package."""
        return self.harbor_config.get("sha")


@functools.cache
def _trials() -> Select[Any]:
    return (
        select(*(trials.c[name] for name in Trial._fields))
        .where(trials.c.org_id == bindparam("org_id"), trials.c.deleted_at.is_(None))
        .order_by(trials.c.task_id, trials.c.trial_index)
    )


@functools.cache
def _one() -> Select[Any]:
    """As ``_trials``; of a running attempt that has spent something, what that is so far."""
    runs = and_(attempts.c.trial_id == trials.c.id, attempts.c.state == "running", trials.c.status == "running")
    shown = [
        case((attempts.c.input_tokens.is_not(None), attempts.c[name]), else_=trials.c[name])
        if name in FIGURES
        else trials.c[name]
        for name in Trial._fields
    ]
    return _trials().outerjoin(attempts, runs).with_only_columns(*shown, maintain_column_froms=True)


def no_trial(trial_id: str) -> NotFound:
    return NotFound(f"There is no trial {trial_id!r} here.", fix="A trial id is a task id, a hyphen and a number.")


async def check_task(connection: AsyncConnection, principal: Principal, task_id: str) -> None:
    """Raises ``NotFound`` for a task that is not there."""
    known = select(tasks.c.id).where(
        tasks.c.id == task_id, tasks.c.org_id == principal.org_id, tasks.c.deleted_at.is_(None)
    )
    if await connection.scalar(known) is None:
        raise no_task(task_id)


async def get_trial(connection: AsyncConnection, principal: Principal, trial_id: str) -> Trial:
    """Also one that was superseded. Raises ``NotFound``."""
    found = await _read(connection, principal, _one().where(trials.c.id == trial_id))
    if not found:
        raise no_trial(trial_id)
    return found[0]


async def get_trial_of_task(connection: AsyncConnection, principal: Principal, task_id: str, index: int) -> Trial:
    """Raises ``NotFound``."""
    statement = _one().where(trials.c.task_id == task_id, trials.c.trial_index == index)
    found = await _read(connection, principal, statement)
    if not found:
        raise NotFound(f"There is no trial {index} of a task {task_id!r} here.", fix="Check both.")
    return found[0]


async def list_trials_of_task(
    connection: AsyncConnection, principal: Principal, task_id: str, *, probe: bool | None, limit: int, offset: int
) -> Sequence[Trial]:
    """All versions, superseded ones included, in the order of creation. Raises ``NotFound`` for an unknown task."""
    statement = _trials().where(trials.c.task_id == task_id).limit(limit).offset(offset)
    if probe is not None:
        statement = statement.where(trials.c.is_probe.is_(probe))
    found = await _read(connection, principal, statement)
    if not found:
        await check_task(connection, principal, task_id)
    return found


async def list_live_trials(
    connection: AsyncConnection, principal: Principal, version_ids: Collection[str], *, experiment: str | None
) -> Sequence[Trial]:
    """The trials of task versions that nothing has replaced; ``experiment`` is an id or a name."""
    if not version_ids:
        return []
    statement = _trials().where(trials.c.task_version_id.in_(version_ids), is_live())
    if experiment is not None:
        statement = statement.where(trials.c.experiment_id == experiment_id(principal, experiment))
    return await _read(connection, principal, statement)


async def _read(connection: AsyncConnection, principal: Principal, statement: Select[Any]) -> list[Trial]:
    return [Trial._make(row) for row in await connection.execute(statement, {"org_id": principal.org_id})]
