"""Reading tasks, trials and experiments."""

import operator
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic_core import to_json
from starlette.responses import Response

from oddish.api.authentication import PrincipalOf
from oddish.api.routing import router as new_router
from oddish.api.services import ServicesOf
from oddish.experiments.queries import get_experiment
from oddish.schemas.tasks import ExperimentResponse, QueueInfo, TaskStatusResponse, TrialResponse
from oddish.trials import waiting
from oddish.trials.queries import (
    UNFINISHED,
    Trial,
    get_trial,
    get_trial_of_task,
    list_live_trials,
    list_trials_of_task,
)
from oddish.trials.summaries import TaskFilter, TaskSummary, get_task, list_tasks

type Status = Literal["pending", "running", "completed", "failed"]
type Limit = Annotated[int, Query(ge=1, le=2000)]
type Offset = Annotated[int, Query(ge=0, le=1_000_000)]
type Waits = Mapping[str, waiting.QueueInfo]

_READ = [name for name in Trial._fields if name in TrialResponse.model_fields]
_DERIVED = [name for name in TrialResponse.model_fields if name not in _READ and hasattr(Trial, name)]
_ABSENT = {
    name: member.get_default(call_default_factory=True)
    for name, member in TrialResponse.model_fields.items()
    if name not in (*_READ, *_DERIVED)
}
_MEMBERS = (*_READ, *_DERIVED, *_ABSENT)
_read = operator.itemgetter(*map(Trial._fields.index, _READ))
_derived = operator.attrgetter(*_DERIVED)

router = new_router()


@router.get("/tasks", tags=["tasks"], response_model=list[TaskStatusResponse])
async def tasks(
    principal: PrincipalOf,
    services: ServicesOf,
    status: Status | None = None,
    user: str | None = None,
    name: Annotated[str | None, Query(description="Of the task, exactly.")] = None,
    experiment_id: Annotated[str | None, Query(description="Id or name.")] = None,
    include_trials: bool = True,
    include_queue_info: bool = False,
    limit: Limit = 100,
    offset: Offset = 0,
) -> Response:
    """Tasks, newest first, with the trials of the current version, or of an experiment."""
    wanted = TaskFilter(experiment=experiment_id, status=status, user=user, name=name, limit=limit, offset=offset)
    async with services.reads.connect() as connection:
        found = await list_tasks(connection, principal, wanted)
        if not include_trials:
            return _unchecked([_task(summary, None, {}).model_dump() for summary in found])
        version_ids = [summary.trial_version_id for summary in found]
        trials = await list_live_trials(connection, principal, version_ids, experiment=experiment_id)
        waits = await waiting.queue_info(connection, _unfinished(trials)) if include_queue_info else {}
    by_task: dict[str, list[dict[str, Any]]] = {summary.id: [] for summary in found}
    for trial in trials:
        by_task[trial.task_id].append(trial_members(trial, waits))
    return _unchecked([_task(summary, None, {}).model_dump() | {"trials": by_task[summary.id]} for summary in found])


@router.get("/tasks/{task_id}", tags=["tasks"])
async def task(
    task_id: str,
    principal: PrincipalOf,
    services: ServicesOf,
    include_trials: bool = True,
) -> TaskStatusResponse:
    """A task with the live trials of its current version."""
    async with services.reads.connect() as connection:
        found = await get_task(connection, principal, task_id)
        if not include_trials:
            return _task(found, None, {})
        trials = await list_live_trials(connection, principal, [found.trial_version_id], experiment=None)
        waits = await waiting.queue_info(connection, _unfinished(trials))
    return _task(found, trials, waits)


@router.get("/tasks/{task_id}/trials", tags=["trials"])
async def trials_of_task(
    task_id: str,
    principal: PrincipalOf,
    services: ServicesOf,
    probe: bool | None = None,
    limit: Limit = 2000,
    offset: Offset = 0,
) -> list[TrialResponse]:
    """The trials of all versions of a task, superseded ones included, in the order of creation."""
    async with services.reads.connect() as connection:
        found = await list_trials_of_task(connection, principal, task_id, probe=probe, limit=limit, offset=offset)
    return [_trial(trial, {}) for trial in found]


@router.get("/tasks/{task_id}/trials/{index}", tags=["trials"])
async def trial_of_task(task_id: str, index: int, principal: PrincipalOf, services: ServicesOf) -> TrialResponse:
    """A trial by its number within the task."""
    async with services.reads.connect() as connection:
        found = await get_trial_of_task(connection, principal, task_id, index)
        waits = await waiting.queue_info(connection, _unfinished([found]))
    return _trial(found, waits)


@router.get("/trials/{trial_id}", tags=["trials"])
async def trial(trial_id: str, principal: PrincipalOf, services: ServicesOf) -> TrialResponse:
    """A trial, also one that was superseded."""
    async with services.reads.connect() as connection:
        found = await get_trial(connection, principal, trial_id)
        waits = await waiting.queue_info(connection, _unfinished([found]))
    return _trial(found, waits)


@router.get("/experiments/{experiment_id}", tags=["experiments"])
async def experiment(experiment_id: str, principal: PrincipalOf, services: ServicesOf) -> ExperimentResponse:
    """An experiment, by id or name, with the counts of its live trials."""
    async with services.reads.connect() as connection:
        return ExperimentResponse.model_validate(await get_experiment(connection, principal, experiment_id))


def _unfinished(trials: Sequence[Trial]) -> list[str]:
    return [trial.id for trial in trials if trial.status in UNFINISHED and trial.status != "running"]


def _trial(trial: Trial, waits: Waits) -> TrialResponse:
    response = TrialResponse.model_validate(trial)
    if (wait := waits.get(trial.id)) is not None:
        response.queue_info = QueueInfo.model_validate(wait)
    return response


def trial_members(trial: Trial, waits: Waits) -> dict[str, Any]:
    """What ``TrialResponse`` says of the trial, without its checks: of thousands, they take as long as all the rest."""
    members = dict(zip(_MEMBERS, (*_read(trial), *_derived(trial), *_ABSENT.values()), strict=True))
    if (wait := waits.get(trial.id)) is not None:
        members["queue_info"] = QueueInfo.model_validate(wait).model_dump()
    return members


def _unchecked(document: object) -> Response:
    return Response(to_json(document, inf_nan_mode="null"), media_type="application/json")


def _task(task: TaskSummary, trials: Sequence[Trial] | None, waits: Waits) -> TaskStatusResponse:
    response = TaskStatusResponse.model_validate(task)
    if trials is not None:
        response.trials = [_trial(trial, waits) for trial in trials]
    return response
