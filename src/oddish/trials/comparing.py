"""Filters that compare agents or models with each other on a task."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import ColumnElement, Double, case, func, literal, select

from oddish.browsing import Filter
from oddish.db.tables import tasks, trials
from oddish.identity.principal import Principal
from oddish.trials.figures import Figures, counted, runtime, tokens
from oddish.trials.rewards import bounded_reward

MORE_IS_BETTER = frozenset({"reward", "pass_rate"})
DEFAULT_METRIC, DEFAULT_AGGREGATE = "reward", "avg"
RATE = "pass_rate"


def comparisons(principal: Principal, wanted: Filter, figures: Figures) -> Iterator[ColumnElement[bool]]:
    if wanted.compare_by and wanted.compare_a and wanted.compare_b:
        metric, aggregate = wanted.compare_metric or DEFAULT_METRIC, wanted.compare_agg or DEFAULT_AGGREGATE
        ours, theirs = (
            figures.of(_aggregate(metric, aggregate).filter(trials.c[wanted.compare_by] == name, *_measured(metric)))
            for name in (wanted.compare_a, wanted.compare_b)
        )
        yield from _beats(ours, theirs, metric, wanted)
    if wanted.top_by and wanted.top_value:
        yield _is_top(principal, wanted.top_by, wanted.top_value, wanted.top_metric or DEFAULT_METRIC)


def _beats(
    ours: ColumnElement[Any], theirs: ColumnElement[Any], metric: str, wanted: Filter
) -> Iterator[ColumnElement[bool]]:
    lead = ours - theirs if metric in MORE_IS_BETTER else theirs - ours
    yield lead > 0
    if wanted.compare_margin:
        margin: Any = literal(wanted.compare_margin, Double)
        yield lead >= (margin / 100 * func.abs(theirs) if wanted.compare_margin_unit == "percent" else margin)


def _is_top(principal: Principal, by: str, name: str, metric: str) -> ColumnElement[bool]:
    each = (
        select(trials.c[by].label("subject"), _aggregate(metric, DEFAULT_AGGREGATE).label("value"))
        .where(*counted(principal), *_measured(metric), trials.c[by].is_not(None))
        .group_by(trials.c[by])
        .correlate(tasks)
        .subquery()
    )
    best = func.max(each.c.value) if metric in MORE_IS_BETTER else func.min(each.c.value)
    return select(best.filter(each.c.subject == name) == best).correlate(tasks).scalar_subquery()


def _measured(metric: str) -> Iterator[ColumnElement[bool]]:
    yield trials.c.status == "success"
    yield _of_trial(metric).is_not(None)


def _of_trial(metric: str) -> ColumnElement[Any]:
    passed = case((trials.c.reward == 1, 1.0), (trials.c.reward.is_not(None), 0.0))
    values: dict[str, ColumnElement[Any]] = {
        "reward": bounded_reward(),
        RATE: passed,
        "runtime": runtime(),
        "tokens": tokens(),
        "steps": trials.c.total_steps,
    }
    return values[metric]


def _aggregate(metric: str, aggregate: str) -> Any:
    value = _of_trial(metric)
    if aggregate == "median":
        return func.percentile_cont(0.5).within_group(value)
    if aggregate == "best" and metric != RATE:
        return func.max(value) if metric in MORE_IS_BETTER else func.min(value)
    return func.avg(value)
