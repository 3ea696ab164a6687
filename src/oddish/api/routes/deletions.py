"""Deleting trials, tasks and experiments."""

from collections.abc import Awaitable, Callable

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.api.authentication import PrincipalOf
from oddish.api.routing import router as new_router
from oddish.api.services import Services, ServicesOf
from oddish.db.deadlock import outlast_deadlocks
from oddish.errors import Forbidden, OddishError
from oddish.gateway.artifacts import forget
from oddish.identity.principal import Principal
from oddish.schemas.deletions import DeletionResponse
from oddish.trials.deletion import Deletion, delete_experiment, delete_task, delete_trial

type Delete = Callable[[AsyncConnection, Principal, str], Awaitable[Deletion]]

log = structlog.get_logger()

router = new_router()


class OnlyTrials(Forbidden):
    """A deployment for many, in which whole tasks and experiments stay."""

    code = "only_trials_deleted"


@router.delete("/trials/{trial_id}", tags=["trials"])
async def trial(trial_id: str, principal: PrincipalOf, services: ServicesOf) -> DeletionResponse:
    """Delete a trial, and stop it first if it has not ended. It is found nowhere any more and counts for nothing."""
    return await _delete(services, principal, delete_trial, trial_id)


@router.delete("/experiments/{experiment_id}", tags=["experiments"])
async def experiment(experiment_id: str, principal: PrincipalOf, services: ServicesOf) -> DeletionResponse:
    """Delete an experiment, by id or name, and its trials; the tasks stay, and the name is free again."""
    _refuse_hosted(services, "experiments")
    return await _delete(services, principal, delete_experiment, experiment_id)


@router.delete("/tasks/{task_id}", tags=["tasks"])
async def task(task_id: str, principal: PrincipalOf, services: ServicesOf) -> DeletionResponse:
    """Delete a task with all its versions and trials. Its name is free again, for a task with another id."""
    _refuse_hosted(services, "tasks")
    return await _delete(services, principal, delete_task, task_id)


def _refuse_hosted(services: Services, kind: str) -> None:
    if services.settings.deployment == "hosted":
        raise OnlyTrials(
            f"This deployment deletes no whole {kind}.",
            fix="Delete trials, one by one: oddish delete --trial ID",
        )


async def _delete(services: Services, principal: Principal, delete: Delete, name: str) -> DeletionResponse:
    async def transaction() -> Deletion:
        async with services.engine.begin() as connection:
            return await delete(connection, principal, name)

    deletion = await outlast_deadlocks(transaction)
    for job_id in deletion.gateway_job_ids:
        await _forget_zips(services, job_id)
    log.info("deleted", kind=deletion.kind, id=deletion.id, trials=deletion.trials_deleted)
    return DeletionResponse(
        message=_message(deletion),
        kind=deletion.kind,
        deleted=deletion.id,
        trials_deleted=deletion.trials_deleted,
        trials_cancelled=deletion.trials_cancelled,
    )


async def _forget_zips(services: Services, job_id: str) -> None:
    """What the store does not do now is done by the upkeep."""
    try:
        await forget(services.store, job_id)
    except OddishError as error:
        log.warning("zips of deleted trials are left for a day", gateway_job=job_id, error=str(error))


def _message(deletion: Deletion) -> str:
    trials, stopped = deletion.trials_deleted, deletion.trials_cancelled
    own = deletion.kind == "trial"
    whole = "" if own else f" and {trials} trial{'' if trials == 1 else 's'}"
    ended = "" if not stopped else ", which had not ended" if own else f", {stopped} of which had not ended"
    return f"Deleted {deletion.kind} {deletion.id}{whole}{ended}."
