"""Cancelling what tasks, trials or an experiment have queued or running."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import or_, select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from oddish.db.tables import tasks, trials
from oddish.errors import InvalidInput, NotFound
from oddish.experiments.lookup import experiment_id
from oddish.identity.principal import Principal
from oddish.queue.cancel import cancel
from oddish.queue.keys import BASELINE_AGENTS
from oddish.trials.queries import UNFINISHED

BATCH = 500
"""Trials of one transaction."""


@dataclass(frozen=True)
class Cancellation:
    """What there is to stop."""

    task_ids: Sequence[str]
    """Found among those that were named, or that the trials or the experiment belong to."""
    not_found: Sequence[str]
    """Named tasks and trials that are not there."""
    tasks_cancelled: int
    """Tasks that had something to stop."""
    batches: Sequence[Sequence[str]]
    """The unfinished trials, in the order in which they are locked."""


async def plan_cancellation(
    engine: AsyncEngine,
    principal: Principal,
    *,
    task_ids: Sequence[str],
    trial_ids: Sequence[str],
    experiment: str | None,
) -> Cancellation:
    """The unfinished trials that are meant: those named and those of the tasks named.

    With ``experiment`` (id or name) only those in it; an experiment alone means all of its trials. Raises
    ``InvalidInput`` when nothing is named and ``NotFound`` when nothing of it exists.
    """
    if not (task_ids or trial_ids or experiment):
        raise InvalidInput("Nothing is named to cancel.", fix="Name task_ids, trial_ids or an experiment_id.")
    async with engine.connect() as connection:
        found_tasks = set(
            await connection.scalars(
                select(tasks.c.id).where(
                    tasks.c.org_id == principal.org_id, tasks.c.deleted_at.is_(None), tasks.c.id.in_(task_ids)
                )
            )
        )
        wanted = select(trials.c.id, trials.c.task_id, trials.c.status, trials.c.agent).where(
            trials.c.org_id == principal.org_id, trials.c.deleted_at.is_(None)
        )
        if task_ids or trial_ids:
            wanted = wanted.where(or_(trials.c.task_id.in_(found_tasks), trials.c.id.in_(trial_ids)))
        if experiment is not None:
            wanted = wanted.where(trials.c.experiment_id == experiment_id(principal, experiment))
        wanted = wanted.where(or_(trials.c.status.in_(UNFINISHED), trials.c.id.in_(trial_ids)))
        rows = (await connection.execute(wanted)).all()
        if experiment is not None and await connection.scalar(select(experiment_id(principal, experiment))) is None:
            raise NotFound(f"There is no experiment {experiment!r} here.", fix="Check the id or name.")
    found_trials = {row.id for row in rows}
    not_found = [name for name in task_ids if name not in found_tasks]
    not_found += [name for name in trial_ids if name not in found_trials]
    touched = found_tasks | {row.task_id for row in rows}
    if not touched and (task_ids or trial_ids):
        raise NotFound(f"None of {', '.join(not_found[:10])} exists here.", fix="Check the ids with `oddish status`.")
    # Baselines last: the end of the last one decides about those that wait for it, and these are to be cancelled.
    baselines = {row.id for row in rows if row.agent in BASELINE_AGENTS}
    unfinished = sorted(
        (row.id for row in rows if row.status in UNFINISHED), key=lambda name: (name in baselines, name)
    )
    return Cancellation(
        task_ids=sorted(touched),
        not_found=not_found,
        tasks_cancelled=len({row.task_id for row in rows if row.status in UNFINISHED}),
        batches=[unfinished[start : start + BATCH] for start in range(0, len(unfinished), BATCH)],
    )


async def cancel_batch(connection: AsyncConnection, trial_ids: Sequence[str]) -> int:
    """Stop these trials in the caller's transaction; how many are over, or stopping within about a second."""
    summary = await cancel(connection, kind="trial", subject_ids=trial_ids)
    return summary.cancelled + summary.stopping
