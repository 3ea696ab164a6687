"""Trials that have ended, found by what a retry names."""

from collections.abc import Sequence

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.experiments.queries import get_experiment
from oddish.identity.principal import Principal
from oddish.trials.queries import check_task, no_trial
from oddish.trials.retryable import Ended, Refused, RetryRequest

_COLUMNS = """
SELECT t.id, t.task_id, t.task_version_id, t.experiment_id, t.agent, t.model, t.environment, t.agent_config,
  t.harbor_config, t.secret_id, t.max_attempts, t.gated, t.status, t.origin, t.superseded_by_trial_id, t.gateway_job_id,
  coalesce(
    (SELECT priority FROM jobs WHERE subject_id = t.id AND kind = 'trial' ORDER BY id DESC LIMIT 1),
    (SELECT priority FROM finished_jobs WHERE subject_id = t.id AND kind = 'trial' ORDER BY id DESC LIMIT 1),
    CASE tasks.priority WHEN 'high' THEN 1 ELSE 0 END
  ) AS priority
FROM trials t JOIN tasks ON tasks.id = t.task_id
"""
_IN_VAIN = """
t.org_id = :org_id AND t.deleted_at IS NULL AND t.superseded_by_trial_id IS NULL AND NOT t.is_probe
  AND t.origin = 'oddish' AND t.status IN ('failed', 'skipped')
"""

# Locks: none, like those that follow.
NAMED = text(f"""
{_COLUMNS} WHERE t.org_id = :org_id AND t.deleted_at IS NULL AND t.id = ANY (CAST(:trial_ids AS text[]))
ORDER BY t.task_id, t.trial_index
""")

OF_TASK = text(f"""
{_COLUMNS} WHERE {_IN_VAIN} AND t.task_id = :task_id AND t.task_version = tasks.current_version
ORDER BY t.trial_index
""")

# Of each task the version that reads of the experiment show: the current one, else the newest that has trials there.
OF_EXPERIMENT = text(f"""
WITH shown AS MATERIALIZED (
  SELECT o.task_id, CASE
    WHEN bool_or(o.task_version = k.current_version) THEN k.current_version ELSE max(o.task_version) END AS version
  FROM trials o JOIN tasks k ON k.id = o.task_id
  WHERE o.experiment_id = :experiment_id AND o.deleted_at IS NULL AND o.superseded_by_trial_id IS NULL
    AND NOT o.is_probe
  GROUP BY o.task_id, k.current_version
)
{_COLUMNS} JOIN shown ON shown.task_id = t.task_id AND shown.version = t.task_version
WHERE {_IN_VAIN} AND t.experiment_id = :experiment_id
ORDER BY t.task_id, t.trial_index
""")  # noqa: S608 - of constants


async def find_ended(
    connection: AsyncConnection, principal: Principal, wanted: RetryRequest
) -> tuple[Sequence[Ended], Sequence[Refused]]:
    """The trials that can run again, by task and number, and those that were named and cannot.

    Raises ``NotFound`` for a task or an experiment that is not there.
    """
    parameters: dict[str, object] = {"org_id": principal.org_id}
    if wanted.task_id is not None:
        await check_task(connection, principal, wanted.task_id)
        statement = OF_TASK
        parameters["task_id"] = wanted.task_id
    elif wanted.experiment is not None:
        statement = OF_EXPERIMENT
        parameters["experiment_id"] = (await get_experiment(connection, principal, wanted.experiment)).id
    else:
        statement = NAMED
        parameters["trial_ids"] = list(wanted.trial_ids)
    found = [Ended(**row) for row in (await connection.execute(statement, parameters)).mappings()]
    return found, _absent(wanted.trial_ids, found)


def _absent(named: Sequence[str], found: Sequence[Ended]) -> list[Refused]:
    there = {trial.id for trial in found}
    return [Refused(trial_id, no_trial(trial_id)) for trial_id in dict.fromkeys(named) if trial_id not in there]
