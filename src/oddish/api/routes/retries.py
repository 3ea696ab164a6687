"""Running trials again."""

import functools
from collections.abc import Sequence
from typing import Annotated

import structlog
from fastapi import Body
from starlette.responses import Response

from oddish.api.authentication import PrincipalOf
from oddish.api.idempotency import Once, RepeatableOf
from oddish.api.problems import problem
from oddish.api.routes.submission import ground
from oddish.api.routing import router as new_router
from oddish.api.services import Services, ServicesOf
from oddish.db.deadlock import outlast_deadlocks
from oddish.identity.principal import Principal
from oddish.registries import RegistryLogin
from oddish.schemas.retries import RefusedTrial, RetriedTrial, RetryOptions, RetryRequest, RetryResponse
from oddish.trials import retry
from oddish.trials.retryable import Refused
from oddish.trials.retryable import RetryRequest as Wanted

log = structlog.get_logger()

router = new_router()


@router.post("/trials/retry", tags=["trials"], response_model=RetryResponse)
async def retry_many(
    body: RetryRequest, repeatable: RepeatableOf, principal: PrincipalOf, services: ServicesOf
) -> Response:
    """Run trials again, all in one transaction: each gets a new one in its place, made like it.

    Of a task or an experiment, those that failed, were cancelled or skipped. What cannot run again is in `refused`,
    with the reason, and the rest runs.
    """

    async def work(once: Once) -> bytes:
        wanted = Wanted(
            body.trial_ids,
            body.task_id,
            body.experiment_id,
            logins=_logins(body),
            gate=body.gate_baselines,
        )
        prepared = await retry.prepare(
            services.engine, services.keyring, services.policy, principal, wanted, ground(services)
        )

        async def conclude() -> tuple[bytes, RetryResponse]:
            async with once.transaction() as connection:
                response = _response(*await retry.retry(connection, services.keyring, prepared))
                return await once.keep(connection, response), response

        answer, response = await outlast_deadlocks(conclude)
        log.info("trials retried", queued=response.queued, skipped=response.skipped, refused=response.failed)
        return answer

    return await repeatable.answer(work)


@router.post("/trials/{trial_id}/retry", tags=["trials"], response_model=RetriedTrial)
async def retry_one(
    trial_id: str,
    repeatable: RepeatableOf,
    principal: PrincipalOf,
    services: ServicesOf,
    body: Annotated[RetryOptions | None, Body()] = None,
) -> Response:
    """Run a trial again that has ended, whatever came of it. A new one takes its place; the old one is read by its id.

    400 when it has not ended or was replaced before, 409 when that happened, or it was deleted, at this moment.
    """
    options = body or RetryOptions()

    async def work(once: Once) -> bytes:
        return await outlast_deadlocks(functools.partial(_retry_one, once, services, principal, trial_id, options))

    return await repeatable.answer(work)


async def _retry_one(
    once: Once, services: Services, principal: Principal, trial_id: str, options: RetryOptions
) -> bytes:
    wanted = Wanted([trial_id], logins=_logins(options), gate=options.gate_baselines)
    prepared = await retry.prepare(
        services.engine, services.keyring, services.policy, principal, wanted, ground(services)
    )
    async with once.transaction() as connection:
        retried, refused = await retry.retry(connection, services.keyring, prepared)
        if refused:
            raise refused[0].error
        return await once.keep(connection, RetriedTrial.model_validate(retried[0]))


def _response(retried: Sequence[retry.Retried], refused: Sequence[Refused]) -> RetryResponse:
    queued = sum(trial.status != "skipped" for trial in retried)
    return RetryResponse(
        retried=[RetriedTrial.model_validate(trial) for trial in retried],
        refused=[RefusedTrial(trial_id=one.trial_id, error=problem(one.error)) for one in refused],
        queued=queued,
        skipped=len(retried) - queued,
        failed=len(refused),
    )


def _logins(options: RetryOptions) -> list[RegistryLogin]:
    return [RegistryLogin.of(login.username, login.token, login.registry) for login in options.registry_auth]
