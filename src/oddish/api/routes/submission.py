"""Submitting and cancelling trials."""

from datetime import timedelta
from typing import Annotated

from fastapi import Header, Response

from oddish.api.authentication import PrincipalOf
from oddish.api.load import SUBMIT_CEILING
from oddish.api.routing import router as new_router
from oddish.api.services import Services, ServicesOf
from oddish.schemas.submission import CancelRequest, CancelResponse, SweepConfig, SweepSubmission, TaskResponse
from oddish.trials.cancellation import cancel_trials
from oddish.trials.submission import Policy, Submission, submit
from oddish.trials.summaries import TaskFilter, list_tasks
from oddish.trials.units import TrialConfig

router = new_router()


@router.post("/tasks/sweep", tags=["trials"])
async def sweep(
    body: SweepSubmission,
    response: Response,
    principal: PrincipalOf,
    services: ServicesOf,
    idempotency_key: Annotated[str | None, Header(max_length=255)] = None,
) -> TaskResponse:
    """Ask for trials of an uploaded task. Those that exist already and have not failed count; the rest is created.

    Sending it again creates nothing, with the same `Idempotency-Key` or another.
    """
    response.headers["Oddish-Submit-Concurrency"] = str(SUBMIT_CEILING)
    submission = Submission(
        task_id=body.task_id,
        configs=[_config(config, body.environment) for config in body.configs],
        experiment=body.experiment_id,
        append=body.append_to_task,
        priority=body.priority,
        max_attempts=body.max_trial_attempts,
        content_hash=body.content_hash,
        harbor=body.harbor,
        user_name=body.user,
        tags=body.tags,
        link=body.link,
        github_username=body.github_username,
        github_meta=body.github_meta,
    )
    submitted = await submit(services.engine, services.keyring, _policy(services), principal, submission)
    async with services.reads.connect() as connection:
        wanted = TaskFilter(experiment=submitted.experiment.id, task_id=submitted.task_id)
        tasks = await list_tasks(connection, principal, wanted)
    return TaskResponse(
        id=submitted.task_id,
        name=submitted.name,
        status=tasks[0].status,
        priority=body.priority,
        trials_count=submitted.trials_count,
        providers=dict(submitted.providers),
        experiment_id=submitted.experiment.id,
        experiment_name=submitted.experiment.name,
        created_at=submitted.created_at,
        new_trial_ids=list(submitted.new_trial_ids),
        user_tags=dict(submitted.tags),
    )


@router.post("/tasks/cancel", tags=["trials"])
async def cancel(body: CancelRequest, principal: PrincipalOf, services: ServicesOf) -> CancelResponse:
    """Stop what is queued or running of tasks, trials or an experiment. Finished trials keep their results."""
    found = await cancel_trials(
        services.engine,
        principal,
        task_ids=body.task_ids,
        trial_ids=body.trial_ids,
        experiment=body.experiment_id,
    )
    return CancelResponse(
        task_ids=list(found.task_ids),
        not_found_task_ids=list(found.not_found),
        tasks_found=len(found.task_ids),
        tasks_cancelled=found.tasks_cancelled,
        trials_cancelled=found.trials_cancelled,
    )


def _config(config: SweepConfig, environment: str | None) -> TrialConfig:
    return TrialConfig(
        agent=config.agent,
        model=config.model,
        n_trials=config.n_trials,
        environment=config.environment or environment,
        env=config.agent_config.env,
        kwargs=config.agent_config.kwargs,
        overrides=config.agent_config.overrides(),
    )


def _policy(services: Services) -> Policy:
    settings = services.settings
    return Policy(
        limits=services.limits,
        max_attempts=settings.max_trial_attempts,
        secret_retention=timedelta(days=settings.secret_retention_days),
        patience_seconds=settings.publication_wait_seconds,
        local=settings.deployment == "local",
    )
