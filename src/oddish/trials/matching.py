"""Filters as SQL: which tasks pass one. Statements select from ``tasks``, and ``users`` where it asks for authors."""

import operator
from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Double,
    Text,
    and_,
    exists,
    false,
    func,
    literal,
    literal_column,
    not_,
    or_,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import array

from oddish.browsing import Filter, Needle, Search
from oddish.db.tables import experiments, task_experiments, tasks, trials, users
from oddish.identity.principal import Principal
from oddish.tags import Tag
from oddish.tasks.tags import carries
from oddish.trials.comparing import comparisons
from oddish.trials.figures import Figures, counted, status_of, tokens

ME = "me"
BOUNDS: tuple[tuple[str, str, Callable[[Any, Any], ColumnElement[bool]]], ...] = (
    ("total_trials_min", "total", operator.ge),
    ("completed_count_min", "completed", operator.ge),
    ("failed_count_min", "failed", operator.ge),
    ("pass_count_min", "passed", operator.ge),
    ("partial_count_min", "partial", operator.ge),
    ("fail_count_min", "unsolved", operator.ge),
    ("harness_count_min", "errors", operator.ge),
    ("avg_score_min", "avg_score", operator.ge),
    ("avg_score_max", "avg_score", operator.le),
    ("pass_rate_min", "pass_rate", operator.ge),
    ("pass_rate_max", "pass_rate", operator.le),
    ("total_tokens_min", "total_tokens", operator.ge),
    ("total_tokens_max", "total_tokens", operator.le),
    ("runtime_total_min", "runtime_total", operator.ge),
    ("runtime_total_max", "runtime_total", operator.le),
    ("runtime_avg_min", "runtime_avg", operator.ge),
    ("runtime_avg_max", "runtime_avg", operator.le),
)
"""Members of a filter, the figure of a task that each is about, and how the two compare."""

_OTHER_HARBOR: ColumnElement[str] = literal_column("trials.harbor_config ->> 'sha'", Text)
"""Written as the index over it is."""

_MODEL_NAMES: tuple[ColumnElement[str], ...] = (
    trials.c.model,
    func.substr(trials.c.model, func.strpos(trials.c.model, "/") + 1),
    func.split_part(trials.c.model, "/", -1),
)
"""Whole, without its provider, and without whatever stands before the last slash."""


def asks_for_authors(wanted: Filter) -> bool:
    return bool(wanted.query or wanted.author or any(map(asks_for_authors, wanted.or_groups)))


def passes(principal: Principal, wanted: Filter, figures: Figures) -> ColumnElement[bool]:
    """That a task is live, one of the principal's organisation, and passes; ``figures`` are those of the task."""
    visible = and_(
        tasks.c.org_id == principal.org_id, tasks.c.deleted_at.is_(None), tasks.c.current_version.is_not(None)
    )
    groups = [_all_of(principal, group, figures) for group in wanted.or_groups]
    return and_(visible, _all_of(principal, wanted, figures), or_(*groups) if groups else true())


def _all_of(principal: Principal, wanted: Filter, figures: Figures) -> ColumnElement[bool]:
    return and_(
        true(),
        *_of_task(principal, wanted),
        *_of_trials(principal, wanted),
        *_of_figures(wanted, figures),
        *comparisons(principal, wanted, figures),
    )


def _of_task(principal: Principal, wanted: Filter) -> Iterator[ColumnElement[bool]]:
    if wanted.query is not None:
        yield _found(wanted.query)
    if wanted.tags:
        yield and_(*map(_tagged, wanted.tags))
    if wanted.tags_any:
        yield or_(*map(_tagged, wanted.tags_any))
    if wanted.tags_none:
        yield not_(or_(*map(_tagged, wanted.tags_none)))
    if wanted.author:
        names = [name.lower() for name in wanted.author]
        own = tasks.c.created_by == principal.user_id if ME in names else false()
        yield or_(own, *(func.lower(column).in_(names) for column in _authors()))
    if wanted.priorities:
        yield tasks.c.priority.in_(wanted.priorities)
    if wanted.created_after is not None:
        yield tasks.c.created_at >= wanted.created_after
    if wanted.created_before is not None:
        yield tasks.c.created_at < wanted.created_before
    if wanted.has_link is not None:
        yield tasks.c.link.is_not(None) if wanted.has_link else tasks.c.link.is_(None)
    if wanted.run_analysis is not None:
        yield tasks.c.run_analysis.is_(wanted.run_analysis)
    if wanted.run_probe is not None:
        yield tasks.c.run_probe.is_(wanted.run_probe)
    if wanted.experiment_ids:
        yield tasks.c.id.in_(
            select(task_experiments.c.task_id).where(
                task_experiments.c.experiment_id.in_(_experiments(principal, wanted))
            )
        )


def _authors() -> tuple[ColumnElement[str], ...]:
    return func.coalesce(tasks.c.user_name, users.c.name), tasks.c.github_username


def _experiments(principal: Principal, wanted: Filter) -> Any:
    return select(experiments.c.id).where(
        experiments.c.org_id == principal.org_id,
        experiments.c.deleted_at.is_(None),
        or_(experiments.c.id.in_(wanted.experiment_ids), experiments.c.name.in_(wanted.experiment_ids)),
    )


def _tagged(text: str) -> ColumnElement[bool]:
    """The tag ``NAME``, whatever its value, or ``NAME=VALUE``."""
    name, _, value = text.partition("=")
    return carries(Tag(name, value))


def _found(search: Search) -> ColumnElement[bool]:
    return or_(*(and_(*map(_holds, alternative)) for alternative in search.alternatives))


def _holds(needle: Needle) -> ColumnElement[bool]:
    # What is not there holds nothing, instead of NULL.
    by_author = [func.coalesce(column, "").icontains(needle.text, autoescape=True) for column in _authors()]
    match needle.place:
        case "tag":
            found: ColumnElement[bool] = _tagged(needle.text)
        case "author":
            found = or_(*by_author)
        case "any":
            found = or_(tasks.c.name.icontains(needle.text, autoescape=True), *by_author, _tags_hold(needle.text))
    return found if needle.wanted else not_(found)


def _tags_hold(text: str) -> ColumnElement[bool]:
    tag = func.jsonb_each_text(tasks.c.tags).table_valued("key", "value").alias("tag")
    found = or_(tag.c.key.icontains(text, autoescape=True), tag.c.value.icontains(text, autoescape=True))
    return exists(select(tag.c.key).where(found).correlate(tasks))


def _of_trials(principal: Principal, wanted: Filter) -> Iterator[ColumnElement[bool]]:
    if not wanted.looks_at_trials:
        return
    metrics = list(_metrics(wanted))
    scope = [*counted(principal, probes=bool(wanted.trial_is_probe)), *_looked_at(wanted)]
    if wanted.experiment_ids:
        scope.append(trials.c.experiment_id.in_(_experiments(principal, wanted)))
    if not wanted.match_all:
        yield _there_is(*scope, *metrics)
        return
    yield _there_is(*scope)
    if metrics:
        yield not_(_there_is(*scope, and_(*metrics).is_not(True)))


def _there_is(*conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    return exists(select(literal(1)).select_from(trials).where(*conditions).correlate(tasks))


def _looked_at(wanted: Filter) -> Iterator[ColumnElement[bool]]:
    """Which trials a filter is about."""
    if wanted.models:
        yield or_(*(name.in_(wanted.models) for name in _MODEL_NAMES))
    if wanted.agent_models:
        yield func.concat(trials.c.agent, ":", trials.c.model).in_(wanted.agent_models)
    for column, values in (
        (trials.c.agent, wanted.agents),
        (trials.c.provider, wanted.providers),
        (trials.c.environment, wanted.environments),
        (trials.c.status, wanted.trial_statuses),
        (trials.c.origin, wanted.origins),
        (trials.c.harbor_stage, wanted.harbor_stages),
        (_OTHER_HARBOR, wanted.harbor_shas),
    ):
        if values:
            yield column.in_(values)
    if wanted.trial_finished_after is not None:
        yield trials.c.finished_at >= wanted.trial_finished_after
    if wanted.trial_finished_before is not None:
        yield trials.c.finished_at < wanted.trial_finished_before


def _metrics(wanted: Filter) -> Iterator[ColumnElement[bool]]:
    """What these trials have to be."""
    for column, least, most in (
        (trials.c.total_steps, wanted.min_steps, wanted.max_steps),
        (trials.c.duration_seconds, wanted.min_duration_seconds, wanted.max_duration_seconds),
        (trials.c.total_tool_calls, wanted.min_tool_calls, wanted.max_tool_calls),
        (tokens(), wanted.min_tokens, wanted.max_tokens),
        (trials.c.reward, wanted.reward_min, wanted.reward_max),
        (trials.c.attempts, wanted.min_attempts, None),
    ):
        if least is not None:
            yield column >= _bound(least)
        if most is not None:
            yield column <= _bound(most)
    if wanted.tool_names or wanted.tool_count_mins:
        yield from _tools(wanted)
    if wanted.has_error is not None:
        yield trials.c.error_message.is_not(None) if wanted.has_error else trials.c.error_message.is_(None)
    if wanted.has_trajectory is not None:
        yield trials.c.has_trajectory.is_(wanted.has_trajectory)


def _tools(wanted: Filter) -> Iterator[ColumnElement[bool]]:
    counts = dict(wanted.tool_count_mins)
    names = list(dict.fromkeys((*wanted.tool_names, *counts)))
    # The total is at hand before the counts by name are: most trials need not be looked at further.
    yield trials.c.total_tool_calls >= _bound(sum(counts.get(name, 1) for name in names))
    yield trials.c.tool_counts.has_all(array(names))
    for name, least in counts.items():
        yield trials.c.tool_counts[name].as_integer() >= _bound(least)


def _of_figures(wanted: Filter, figures: Figures) -> Iterator[ColumnElement[bool]]:
    if wanted.statuses:
        yield status_of(figures).in_(wanted.statuses)
    for member, figure, compare in BOUNDS:
        if (bound := getattr(wanted, member)) is not None:
            yield compare(figures[figure], _bound(bound))


def _bound(number: float) -> ColumnElement[Any]:
    """As large as it may be, whatever it is compared with."""
    return literal(number, BigInteger if isinstance(number, int) else Double)
