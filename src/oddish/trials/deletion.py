"""Deleting trials, tasks and experiments: they are marked and never seen again, and their ids never come back.

Rows, files and costs stay. One transaction does it all, and ends what still waits or runs: that comes before the marks,
because whoever ends a job holds it before its trial. Locks, in this order: the experiment, the task, jobs, trials. A
submission or retry to the same place is over before, or finds nothing there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.db.tables import experiments, trials
from oddish.experiments.lookup import experiment_id, no_experiment
from oddish.identity.principal import Principal
from oddish.queue.cancel import cancel
from oddish.trials.queries import no_trial
from oddish.trials.subject import locked_task

# Locks: tasks (that one).
HOLD_TASK = text("SELECT FROM tasks WHERE id = :task_id FOR NO KEY UPDATE")

# Locks: trials (by id).
MARK_TRIALS = text("""
WITH own AS MATERIALIZED (
  SELECT id FROM trials WHERE id = ANY (CAST(:trial_ids AS text[])) AND deleted_at IS NULL ORDER BY id FOR NO KEY UPDATE
)
UPDATE trials SET deleted_at = now() FROM own WHERE trials.id = own.id RETURNING trials.gateway_job_id
""")

# Frees the name. Locks: tasks.
MARK_TASK = text("UPDATE tasks SET deleted_at = now(), updated_at = now() WHERE id = :task_id")

# Frees the name and ends what was shared. Locks: experiments.
MARK_EXPERIMENT = text("UPDATE experiments SET deleted_at = now(), public_token = NULL WHERE id = :experiment_id")


# Locks: none.
IS_DELETED = text("SELECT EXISTS (SELECT FROM trials WHERE id = :trial_id AND deleted_at IS NOT NULL)")


@dataclass(frozen=True)
class Deletion:
    kind: Literal["trial", "task", "experiment"]
    id: str
    trials_deleted: int
    trials_cancelled: int
    """Of these, those that waited or ran."""
    gateway_job_ids: Sequence[str] = ()
    """The jobs of the gateway that some of them are of."""


async def delete_trial(connection: AsyncConnection, principal: Principal, trial_id: str) -> Deletion:
    """Runs in the caller's transaction, as the others do. Raises ``NotFound``."""
    found = select(trials.c.task_id).where(
        trials.c.id == trial_id, trials.c.org_id == principal.org_id, trials.c.deleted_at.is_(None)
    )
    task_id = await connection.scalar(found)
    if task_id is not None:
        await connection.execute(HOLD_TASK, {"task_id": task_id})
    deletion = await _delete(connection, "trial", trial_id, [] if task_id is None else [trial_id])
    if deletion.trials_deleted == 0:
        raise no_trial(trial_id)
    return deletion


async def delete_task(connection: AsyncConnection, principal: Principal, task_id: str) -> Deletion:
    """With all its versions and all their trials, in whatever experiment. Raises ``NotFound``."""
    task = await locked_task(connection, principal, task_id)
    own = select(trials.c.id).where(trials.c.task_id == task.id, trials.c.deleted_at.is_(None))
    deletion = await _delete(connection, "task", task.id, (await connection.scalars(own)).all())
    await connection.execute(MARK_TASK, {"task_id": task.id})
    return deletion


async def delete_experiment(connection: AsyncConnection, principal: Principal, reference: str) -> Deletion:
    """By id or name, with the trials that ran in it; the tasks stay. Raises ``NotFound``."""
    found = (
        select(experiments.c.id)
        .where(experiments.c.id == experiment_id(principal, reference), experiments.c.deleted_at.is_(None))
        .with_for_update()
    )
    known: str | None = await connection.scalar(found)
    if known is None:
        raise no_experiment(reference)
    own = select(trials.c.id).where(trials.c.experiment_id == known, trials.c.deleted_at.is_(None))
    deletion = await _delete(connection, "experiment", known, (await connection.scalars(own)).all())
    await connection.execute(MARK_EXPERIMENT, {"experiment_id": known})
    return deletion


async def of_deleted_trial(connection: AsyncConnection, object_key: str) -> bool:
    """Whether an object of the store is a file of a trial that was deleted, which stays and is seen no more."""
    kind, _, path = object_key.partition("/")
    trial_id = path.partition("/")[0]
    return kind == "trials" and bool(await connection.scalar(IS_DELETED, {"trial_id": trial_id}))


async def _delete(
    connection: AsyncConnection, kind: Literal["trial", "task", "experiment"], name: str, trial_ids: Sequence[str]
) -> Deletion:
    if not trial_ids:
        return Deletion(kind, name, trials_deleted=0, trials_cancelled=0)
    ended = await cancel(connection, kind="trial", subject_ids=trial_ids)
    marked = (await connection.scalars(MARK_TRIALS, {"trial_ids": list(trial_ids)})).all()
    return Deletion(
        kind,
        name,
        trials_deleted=len(marked),
        trials_cancelled=ended.cancelled + ended.stopping,
        gateway_job_ids=sorted({job_id for job_id in marked if job_id is not None}),
    )
