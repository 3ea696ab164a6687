"""What filters can be given: the values that occur in the tasks and trials of an organisation."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, Select, or_, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.browsing.table import ORIGINS, PRIORITIES, TASK_STATUSES, TRIAL_STATUSES
from oddish.db.tables import experiments, trials
from oddish.identity.principal import Principal
from oddish.trials.live import is_live

NEWEST_TASKS = 100
"""Those whose trials are asked which tools they used, and how far they came."""
MOST_VALUES = 500

OF_TASKS = """
SELECT 'tag' AS kind, jsonb_object_keys(tags) AS value FROM tasks
WHERE org_id = :org_id AND deleted_at IS NULL AND current_version IS NOT NULL
UNION
SELECT 'author', coalesce(t.user_name, u.name) FROM tasks t JOIN users u ON u.id = t.created_by
WHERE t.org_id = :org_id AND t.deleted_at IS NULL AND t.current_version IS NOT NULL
"""
OF_NEWEST = """
WITH newest AS MATERIALIZED (
  SELECT id, current_version FROM tasks
  WHERE org_id = :org_id AND deleted_at IS NULL AND current_version IS NOT NULL
  ORDER BY created_at DESC, id LIMIT :newest
), ran AS MATERIALIZED (
  SELECT t.harbor_stage, t.harbor_config ->> 'sha' AS sha, t.tool_counts
  FROM newest JOIN trials t ON t.org_id = :org_id AND t.task_id = newest.id AND t.task_version = newest.current_version
  WHERE t.deleted_at IS NULL AND t.superseded_by_trial_id IS NULL AND t.is_probe IS FALSE
)
SELECT 'tool' AS kind, jsonb_object_keys(tool_counts) AS value FROM ran WHERE jsonb_typeof(tool_counts) = 'object'
UNION SELECT 'stage', harbor_stage FROM ran UNION SELECT 'sha', sha FROM ran
"""


@dataclass(frozen=True)
class Facets:
    """Values by the filter that takes them, sorted; at most ``MOST_VALUES`` of each."""

    tags: Sequence[str]
    author: Sequence[str]
    statuses: Sequence[str]
    priorities: Sequence[str]
    agents: Sequence[str]
    models: Sequence[str]
    agent_models: Sequence[str]
    providers: Sequence[str]
    environments: Sequence[str]
    trial_statuses: Sequence[str]
    origins: Sequence[str]
    tool_names: Sequence[str]
    """Of the trials of the newest tasks, as the two that follow."""
    harbor_stages: Sequence[str]
    harbor_shas: Sequence[str]


async def list_facets(connection: AsyncConnection, principal: Principal) -> Facets:
    """Three statements, none of which reads the records of all trials."""
    ran = (await connection.execute(_what_ran(principal))).all()
    named = {"org_id": principal.org_id}
    of_tasks = _by_kind(await connection.execute(text(OF_TASKS), named))
    of_newest = _by_kind(await connection.execute(text(OF_NEWEST), named | {"newest": NEWEST_TASKS}))
    return Facets(
        tags=of_tasks.get("tag", ()),
        author=of_tasks.get("author", ()),
        statuses=TASK_STATUSES,
        priorities=PRIORITIES,
        agents=_values(row.agent for row in ran),
        models=_values(row.model for row in ran),
        agent_models=_values(f"{row.agent}:{row.model}" for row in ran if row.model),
        providers=_values(row.provider for row in ran),
        environments=_values(row.environment for row in ran),
        trial_statuses=TRIAL_STATUSES,
        origins=ORIGINS,
        tool_names=of_newest.get("tool", ()),
        harbor_stages=of_newest.get("stage", ()),
        harbor_shas=of_newest.get("sha", ()),
    )


async def list_experiments(
    connection: AsyncConnection, principal: Principal, *, query: str | None, ids: Sequence[str], limit: int
) -> Sequence[Mapping[str, Any]]:
    """Id and name of experiments, the last active first: those whose name holds ``query``, or those of ``ids``."""
    statement = select(experiments.c.id, experiments.c.name).where(
        experiments.c.org_id == principal.org_id, experiments.c.deleted_at.is_(None)
    )
    if ids:
        statement = statement.where(or_(experiments.c.id.in_(ids), experiments.c.name.in_(ids)))
    if query:
        statement = statement.where(experiments.c.name.icontains(query, autoescape=True))
    newest = statement.order_by(experiments.c.last_activity_at.desc(), experiments.c.id).limit(limit)
    return [dict(row._mapping) for row in await connection.execute(newest)]


def _what_ran(principal: Principal) -> Select[Any]:
    columns = (trials.c.agent, trials.c.model, trials.c.provider, trials.c.environment)
    return select(*columns).where(trials.c.org_id == principal.org_id, is_live()).group_by(*columns)


def _by_kind(rows: Iterable[Row[Any]]) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str | None]] = {}
    for row in rows:
        found.setdefault(row.kind, []).append(row.value)
    return {kind: _values(values) for kind, values in found.items()}


def _values(values: Iterable[str | None]) -> Sequence[str]:
    return sorted({value for value in values if value})[:MOST_VALUES]
