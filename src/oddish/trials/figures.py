"""Figures of a task: what its trials come to, those of the current version that count."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Double,
    FromClause,
    and_,
    case,
    cast,
    func,
    literal,
    literal_column,
    or_,
    select,
    true,
)

from oddish.db.tables import tasks, trials
from oddish.identity.principal import Principal
from oddish.queue.keys import BASELINE_AGENTS
from oddish.trials.rewards import SUMMABLE, bounded_reward

ALIAS = "figures"


def counted(principal: Principal, *, probes: bool = False) -> list[ColumnElement[bool]]:
    """Which trials are those of the task that a statement is about. Written as the index over them is."""
    return [
        trials.c.org_id == principal.org_id,
        trials.c.task_id == tasks.c.id,
        trials.c.task_version == tasks.c.current_version,
        trials.c.deleted_at.is_(None),
        trials.c.superseded_by_trial_id.is_(None),
        trials.c.is_probe.is_(probes),
    ]


def tokens() -> ColumnElement[float]:
    """Read and written by a trial; NULL where neither is known."""
    read, written = trials.c.input_tokens, trials.c.output_tokens
    known = or_(read.is_not(None), written.is_not(None))
    return case((known, func.coalesce(cast(read, Double), 0.0) + func.coalesce(cast(written, Double), 0.0)))


def cost() -> ColumnElement[float]:
    """Of a trial, bounded so that a sum has room; NULL where it is not known."""
    bounded = func.least(func.greatest(trials.c.cost_usd, -SUMMABLE), SUMMABLE)
    return case((trials.c.cost_usd.is_not(None), bounded))


def runtime() -> ColumnElement[float]:
    """Seconds from the first start of a trial to its end."""
    return func.date_part("epoch", trials.c.finished_at - trials.c.started_at, type_=Double)


def _number(*conditions: ColumnElement[bool]) -> ColumnElement[int]:
    return func.count().filter(*conditions)


_SUCCESS = trials.c.status == "success"
_FAILED = trials.c.status == "failed"
_SCORED = and_(_SUCCESS, trials.c.agent.not_in(BASELINE_AGENTS))
_PASSED = case((trials.c.reward == 1, 1.0), (trials.c.reward.is_not(None), 0.0))

FIGURES: Mapping[str, ColumnElement[Any]] = {
    "total": func.count(),
    "waiting": _number(trials.c.status == "queued"),
    "active": _number(trials.c.status.in_(("running", "retrying"))),
    "completed": _number(_SUCCESS),
    "failed": _number(_FAILED),
    "errors": _number(_FAILED, trials.c.harbor_stage.is_distinct_from("cancelled")),
    "passed": _number(_SUCCESS, trials.c.reward == 1),
    "partial": _number(_SUCCESS, trials.c.reward.not_in((0, 1))),
    "unsolved": _number(_SUCCESS, trials.c.reward == 0),
    "avg_score": 100 * func.avg(bounded_reward()).filter(_SCORED),
    "pass_rate": 100 * func.avg(_PASSED).filter(_SCORED),
    "total_tokens": func.coalesce(func.sum(tokens()), 0),
    "runtime_total": func.coalesce(func.sum(runtime()), 0),
    "runtime_avg": func.avg(runtime()),
    "cost": func.sum(cost()),
}
"""By name, as aggregates over trials. Scores and rates are percent and leave out oracle and nop."""


class Figures:
    """The figures that a statement about tasks makes use of, worked out once for each task."""

    def __init__(self, principal: Principal) -> None:
        self._principal = principal
        self._used: dict[str, ColumnElement[Any]] = {}

    def __getitem__(self, name: str) -> ColumnElement[Any]:
        self._used[name] = FIGURES[name]
        return literal_column(f"{ALIAS}.{name}", FIGURES[name].type)

    def of(self, aggregate: ColumnElement[Any]) -> ColumnElement[Any]:
        """Another one, as an aggregate over the trials of a task that count."""
        name = f"figure_{len(self._used)}"
        self._used[name] = aggregate
        return literal_column(f"{ALIAS}.{name}", aggregate.type)

    def beside(self, source: FromClause) -> FromClause:
        """``source``, which has the tasks, with the figures that were made use of."""
        if not self._used:
            return source
        worked_out = select(*(figure.label(name) for name, figure in self._used.items())).where(
            *counted(self._principal)
        )
        return source.join(worked_out.correlate(tasks).lateral(ALIAS), true())


def status_of(figures: Figures) -> ColumnElement[str]:
    """pending: nothing has started. running: something has, and something is left. Else all trials have ended: failed
    when none of them succeeded, completed otherwise."""
    return case(
        (figures["waiting"] == figures["total"], literal("pending")),
        (figures["waiting"] + figures["active"] > 0, literal("running")),
        (figures["completed"] == 0, literal("failed")),
        else_=literal("completed"),
    )
