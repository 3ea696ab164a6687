"""Submitting and cancelling trials."""

import functools
import json
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response

from oddish.api.authentication import PrincipalOf
from oddish.api.idempotency import Answer, Once, Repeatable, RepeatableOf
from oddish.api.load import submit_ceiling
from oddish.api.routing import GuardedRoute
from oddish.api.routing import router as new_router
from oddish.api.services import Services, ServicesOf, services_of
from oddish.db.deadlock import outlast_deadlocks
from oddish.identity.principal import Principal
from oddish.registries import RegistryLogin
from oddish.schemas.submission import CancelRequest, CancelResponse, SweepConfig, SweepSubmission, TaskResponse
from oddish.trials.budgets import Budget
from oddish.trials.cancellation import cancel_batch, plan_cancellation
from oddish.trials.ground import Ground
from oddish.trials.lineage import any_ended_in_vain
from oddish.trials.submission import Submission, Submitted, prepare, submit
from oddish.trials.summaries import task_in_experiment
from oddish.trials.units import TrialConfig

log = structlog.get_logger()


class SubmitRoute(GuardedRoute):
    """Tells the caller how many submissions to send at a time."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def advertised(request: Request) -> Response:
            response = await handler(request)
            response.headers["Oddish-Submit-Concurrency"] = str(submit_ceiling(services_of(request).engine))
            return response

        return advertised


router = new_router(SubmitRoute)


@router.post("/tasks/sweep", tags=["trials"], response_model=TaskResponse)
async def sweep(
    body: SweepSubmission, repeatable: RepeatableOf, principal: PrincipalOf, services: ServicesOf
) -> Response:
    """Ask for trials of an uploaded task. Those that exist already and have not failed count; the rest is created.

    A repetition with the same `Idempotency-Key` is answered the same until one of the trials that it created has
    failed, and no other has replaced it with success; then it asks anew, as a call with another key does at any time.
    """
    answer = await submit_repeatably(repeatable, services, principal, body, ground(services))
    return answer.response()


async def submit_repeatably(
    repeatable: Repeatable, services: Services, principal: Principal, body: SweepSubmission, ground: Ground
) -> Answer:
    """Submit once per key, and once more for each time that what the key stands for came to nothing."""

    async def work(once: Once) -> bytes:
        prepared = await prepare(services.reads, services.policy, principal, _submission(body), ground)
        async with once.transaction() as connection:
            submitted = await submit(connection, services.keyring, prepared)
            answer = await once.keep(connection, await _response(connection, principal, body, submitted))
        if created := submitted.new_trial_ids:
            log.info(
                "trials created",
                experiment=submitted.experiment.id,
                trials=len(created),
                first=created[0],
                last=created[-1],
            )
        return answer

    return await repeatable.run(work, stands=functools.partial(_stands, principal))


async def _stands(principal: Principal, connection: AsyncConnection, answer: bytes) -> bool:
    """Asking anew creates nothing while all that was created counts, and an answer without new trials says no more."""
    created = json.loads(answer)["new_trial_ids"]
    return bool(created) and not await any_ended_in_vain(connection, principal, created)


async def _response(
    connection: AsyncConnection, principal: Principal, body: SweepSubmission, submitted: Submitted
) -> TaskResponse:
    task = await task_in_experiment(connection, principal, submitted.task_id, submitted.experiment.id)
    return TaskResponse(
        id=submitted.task_id,
        name=submitted.name,
        status=task.status,
        priority=body.priority,
        trials_count=submitted.trials_count,
        providers=dict(submitted.providers),
        experiment_id=submitted.experiment.id,
        experiment_name=submitted.experiment.name,
        created_at=submitted.created_at,
        new_trial_ids=list(submitted.new_trial_ids),
        other_version_trials=task.other_version_trials,
        gated_trials=submitted.gated_trials,
        user_tags=dict(submitted.tags),
    )


@router.post("/tasks/cancel", tags=["trials"], response_model=CancelResponse)
async def cancel(
    body: CancelRequest, repeatable: RepeatableOf, principal: PrincipalOf, services: ServicesOf
) -> Response:
    """Stop what is queued or running of tasks, trials or an experiment. Finished trials keep their results."""

    async def cancel_some(batch: Sequence[str]) -> int:
        async with services.engine.begin() as connection:
            return await cancel_batch(connection, batch)

    async def work(once: Once) -> bytes:
        found = await plan_cancellation(
            services.engine,
            principal,
            task_ids=body.task_ids,
            trial_ids=body.trial_ids,
            experiment=body.experiment_id,
        )
        *earlier, last = found.batches or [[]]
        cancelled = 0
        for batch in earlier:
            cancelled += await outlast_deadlocks(functools.partial(cancel_some, batch))

        async def conclude() -> bytes:
            async with once.transaction() as connection:
                answer = CancelResponse(
                    task_ids=list(found.task_ids),
                    not_found_task_ids=list(found.not_found),
                    tasks_found=len(found.task_ids),
                    tasks_cancelled=found.tasks_cancelled,
                    trials_cancelled=cancelled + await cancel_batch(connection, last),
                )
                return await once.keep(connection, answer)

        return await outlast_deadlocks(conclude)

    return await repeatable.answer(work)


def ground(services: Services) -> Ground:
    patience = services.settings.publication_wait_seconds
    return Ground(services.reads, services.engine, services.limits, patience_seconds=patience)


def _submission(body: SweepSubmission) -> Submission:
    return Submission(
        task_id=body.task_id,
        configs=[_config(config, body.environment) for config in body.configs],
        experiment=body.experiment_id,
        append=body.append_to_task,
        priority=body.priority,
        max_attempts=body.max_trial_attempts,
        content_hash=body.content_hash,
        harbor=body.harbor,
        credentials=body.credentials,
        logins=[RegistryLogin.of(login.username, login.token, login.registry) for login in body.registry_auth],
        user_name=body.user,
        tags=body.tags,
        link=body.link,
        github_username=body.github_username,
        github_meta=body.github_meta,
        gate_baselines=body.gate_baselines,
        budget=None if body.max_cost_usd is None else Budget(body.max_cost_usd, body.budget),
        publish=bool(body.publish_experiment),
        run_analysis=bool(body.run_analysis),
        run_probe=bool(body.run_probe),
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
        disable_web_tools=config.agent_config.disable_web_tools,
    )
