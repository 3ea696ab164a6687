"""What whoever has the link of a published experiment may read, without a key."""

from typing import Annotated

from fastapi import Path, Query
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.api.routing import router as new_router
from oddish.api.services import ServicesOf
from oddish.errors import NotFound
from oddish.experiments.public import PublicExperiment, public_experiment
from oddish.schemas.sharing import PublicExperimentResponse, PublicTaskResponse, PublicTrialResponse
from oddish.trials.queries import list_live_trials
from oddish.trials.summaries import TaskFilter, TaskSummary, list_tasks

type Token = Annotated[str, Path(max_length=100, description="What the link carries.")]

router = new_router()


@router.get("/public/experiments/{token}", tags=["public"])
async def experiment(token: Token, services: ServicesOf) -> PublicExperimentResponse:
    """A published experiment."""
    async with services.reads.connect() as connection:
        return PublicExperimentResponse.model_validate(await public_experiment(connection, token))


@router.get("/public/experiments/{token}/tasks", tags=["public"])
async def tasks(
    token: Token,
    services: ServicesOf,
    limit: Annotated[int, Query(ge=1, le=200)] = 100,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> list[PublicTaskResponse]:
    """The tasks of a published experiment, newest first, with the counts of their trials there."""
    async with services.reads.connect() as connection:
        shown = await public_experiment(connection, token)
        wanted = TaskFilter(experiment=shown.id, limit=limit, offset=offset)
        found = await list_tasks(connection, shown.reader, wanted)
    return [PublicTaskResponse.model_validate(task) for task in found]


@router.get("/public/experiments/{token}/tasks/{task_id}", tags=["public"])
async def task(token: Token, task_id: str, services: ServicesOf) -> PublicTaskResponse:
    """A task of a published experiment, with the counts of its trials there."""
    async with services.reads.connect() as connection:
        shown = await public_experiment(connection, token)
        return PublicTaskResponse.model_validate(await _task(connection, shown, task_id))


@router.get("/public/experiments/{token}/tasks/{task_id}/trials", tags=["public"])
async def trials(token: Token, task_id: str, services: ServicesOf) -> list[PublicTrialResponse]:
    """The trials of a task in a published experiment that nothing has replaced; probes are not shown."""
    async with services.reads.connect() as connection:
        shown = await public_experiment(connection, token)
        found = await _task(connection, shown, task_id)
        version = [found.trial_version_id]
        trials = await list_live_trials(connection, shown.reader, version, experiment=shown.id)
    return [PublicTrialResponse.model_validate(trial) for trial in trials]


async def _task(connection: AsyncConnection, shown: PublicExperiment, task_id: str) -> TaskSummary:
    wanted = TaskFilter(experiment=shown.id, task_id=task_id, limit=1)
    found = await list_tasks(connection, shown.reader, wanted)
    if not found:
        raise NotFound(f"The published experiment has no task {task_id!r}.", fix="Its tasks are listed under /tasks.")
    return found[0]
