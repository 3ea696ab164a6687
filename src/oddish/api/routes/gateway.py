"""The job gateway: what is asked of it."""

import json
import time
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import structlog
from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from oddish.api.authentication import PrincipalOf
from oddish.api.idempotency import Answer, Once, Repeatable, RepeatableOf
from oddish.api.jobstream import wait_for_end
from oddish.api.routes.gatewayjobs import ROOT, document_of, refuse_crowd
from oddish.api.routes.submission import ground
from oddish.api.routing import router as new_router
from oddish.api.services import Services, ServicesOf
from oddish.correlation import HEADER, is_usable
from oddish.errors import InvalidInput, OddishError
from oddish.gateway import jobs
from oddish.gateway.addresses import parse_address, parse_callback, require_zip
from oddish.gateway.jobs import GatewayJob, Order
from oddish.gateway.orders import execution, refilling, verification
from oddish.gateway.plans import logins, plans
from oddish.gateway.refill import plan_refill
from oddish.gateway.resolution import public_addresses, system_resolver
from oddish.gateway.trials import find_trials
from oddish.gateway.wording import in_words_of_requests
from oddish.identity.principal import Principal
from oddish.schemas.gateway import ExecuteTasks, JobRequest, VerifyTask
from oddish.schemas.gatewayjobs import JobAccepted, JobDocument, RefillAccepted
from oddish.serving.refusals import MEDIA_TYPE, refusal
from oddish.trials.checking import refuse_hopeless

JOB_HEADER = "X-Job-Id"
TIMING = {"Server-Timing": {"description": "`total;dur=` and milliseconds.", "schema": {"type": "string"}}}
JOB = {JOB_HEADER: {"description": "The job.", "schema": {"type": "string"}}}
REFUSAL = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
WAITED: dict[int | str, dict[str, Any]] = {
    200: {"headers": JOB | TIMING},
    429: {"description": "The organisation's quota is used up; try again after `Retry-After`.", "content": REFUSAL},
    504: {"description": "The job takes longer and goes on: poll it.", "headers": JOB | TIMING, "content": REFUSAL},
}

log = structlog.get_logger()


class UnusableCorrelation(InvalidInput):
    """An `x-correlation-id` under which nothing of the job would be found."""

    code = "correlation_id_refused"


def _usable_correlation(request: Request) -> None:
    brought = request.headers.get(HEADER)
    if brought and not is_usable(brought):
        raise UnusableCorrelation(
            f"The {HEADER} {brought[:40]!r} has more than 128 characters, or other ones than letters, digits and "
            "._:/+=- behind a letter or digit.",
            fix="Shorten it, or leave it out.",
        )


router = new_router(requires=_usable_correlation)


class JobGoesOn(OddishError):
    """A job that was waited for takes longer, and goes on."""

    code = "job_goes_on"
    status = 504


@router.post(f"{ROOT}/jobs/execute-tasks", tags=["gateway"], status_code=202, response_model=JobAccepted)
async def execute_tasks(
    body: ExecuteTasks, repeatable: RepeatableOf, principal: PrincipalOf, services: ServicesOf
) -> Response:
    """Run agents on a task whose archive a worker fetches, as soon as the organisation's quota has room for them.

    Each call makes a new job, unless its `Idempotency-Key` was sent before.
    """
    return (await Asking(repeatable, principal, services).execute(body)).response(202)


@router.post(f"{ROOT}/jobs/verify-task", tags=["gateway"], status_code=202, response_model=JobAccepted)
async def verify_task(
    body: VerifyTask, repeatable: RepeatableOf, principal: PrincipalOf, services: ServicesOf
) -> Response:
    """Run a task's tests on a workspace, without agent or solution: its `visible_seed`, and the fixture on top.

    For the authors of tasks: what comes of it is nobody's score.
    """
    asking = Asking(repeatable, principal, services)

    async def order() -> Order:
        return verification(await asking.checked(body), evidence_deployed=asking.evidence_deployed)

    return (await asking.create(order)).response(202)


@router.post(f"{ROOT}/run/datapoint", tags=["gateway"], response_model=JobDocument, responses=WAITED)
async def run_datapoint(
    body: ExecuteTasks, request: Request, repeatable: RepeatableOf, principal: PrincipalOf, services: ServicesOf
) -> Response:
    """As `jobs/execute-tasks`, and answer when the job has ended. 429 where the quota has no room for it right now.

    504 when it takes longer than this server waits, with the job in `X-Job-Id`: it goes on, so poll it or follow its
    events rather than asking again.
    """
    began = time.perf_counter()
    refuse_crowd(services)
    answer = await Asking(repeatable, principal, services).execute(body, at_once=True)
    job_id = json.loads(answer.document)["job_id"]
    seconds = services.settings.gateway_wait_seconds
    if await wait_for_end(services.gateway_feeds, services.reads, job_id, seconds=seconds):
        response = await document_of(services, request, principal, job_id)
    else:
        response = refusal(
            JobGoesOn(
                f"Job {job_id!r} has not ended within {seconds:g} s, and goes on.",
                fix=f"GET {ROOT}/jobs/{job_id}, or its events. Asking again would run it twice.",
            ),
            job_id=job_id,
        )
    response.headers[JOB_HEADER] = job_id
    response.headers["Server-Timing"] = f"total;dur={(time.perf_counter() - began) * 1000:.1f}"
    return response


@router.post(
    f"{ROOT}/jobs/{{job_id}}/retry-errored-trials", tags=["gateway"], status_code=202, response_model=RefillAccepted
)
async def retry_errored_trials(
    job_id: str,
    repeatable: RepeatableOf,
    principal: PrincipalOf,
    services: ServicesOf,
    include_side_effects: Annotated[
        bool, Query(description="Whether the new job notifies, delivers and writes back as the other one did.")
    ] = False,
) -> Response:
    """Make up for the trials of a job of one agent that raised: a new job, of as many trials, on the same task version.

    The job itself stays as it is; put the two together for an overall pass@k.
    """

    async def order() -> Order:
        async with services.reads.connect() as connection:
            job = await jobs.get(connection, principal, job_id)
            refill = plan_refill(job, [found.trial for found in await find_trials(connection, job_id)])
            request = await jobs.whole_request(connection, services.keyring, job)
        return refilling(job, request, refill, side_effects=include_side_effects)

    return (await Asking(repeatable, principal, services).create(order, said=_refilled)).response(202)


class Asking:
    """A call that makes a job, once however often it is sent."""

    def __init__(self, repeatable: Repeatable, principal: Principal, services: Services) -> None:
        self._repeatable = repeatable
        self._principal = principal
        self._services = services

    @property
    def evidence_deployed(self) -> bool:
        return self._services.settings.require_verifier_evidence

    async def execute(self, body: ExecuteTasks, *, at_once: bool = False) -> Answer:
        async def order() -> Order:
            return execution(await self.checked(body), evidence_deployed=self.evidence_deployed)

        return await self.create(order, at_once=at_once)

    async def create(
        self,
        order: Callable[[], Awaitable[Order]],
        *,
        at_once: bool = False,
        said: Callable[[GatewayJob], JobAccepted] = lambda job: JobAccepted(job_id=job.id, status=job.status),
    ) -> Answer:
        """The job; ``at_once`` only if it need not wait. Raises ``QuotaReached`` and what ``order`` is refused for."""
        services, principal = self._services, self._principal

        async def work(once: Once) -> bytes:
            wanted = await order()
            await self._refuse_hopeless(wanted)
            await jobs.prepare(services.engine, principal, services.limits, wanted.agents)
            async with once.transaction() as connection:
                if at_once:
                    await jobs.admit(connection, principal, services.limits)
                retention = services.policy.secret_retention
                job = await jobs.create(connection, services.keyring, principal, wanted, retention=retention)
                document = await once.keep(connection, said(job))
            log.info("job created", job=job.id, kind=job.kind, task=job.task_slug)
            return document

        return await self._repeatable.run(work)

    async def _refuse_hopeless(self, order: Order) -> None:
        """Raise what its trials would be refused for with any task, before an archive is fetched for nothing."""
        services, of_job = self._services, ground(self._services)
        with in_words_of_requests():
            for plan in plans(order.kind, order.request):
                await refuse_hopeless(
                    services.reads,
                    services.policy,
                    self._principal.org_id,
                    of_job,
                    plan.config,
                    harbor=plan.harbor,
                    logins=logins(order.request),
                )

    async def checked(self, body: JobRequest) -> dict[str, Any]:
        """The request as JSON, whose addresses may be fetched and called. Raises ``RefusedAddress``, ``Unresolved``."""
        settings = self._services.settings
        archives = [parse_address(url) for url in body.addresses]
        if settings.gateway_zip_only:
            archives = [require_zip(address) for address in archives]
        for address in [*archives, *map(parse_callback, body.callbacks)]:
            await public_addresses(address, settings.allowed_hosts, system_resolver)
        return body.model_dump(mode="json")


def _refilled(job: GatewayJob) -> RefillAccepted:
    return RefillAccepted(
        job_id=job.id,
        status=job.status,
        retry_of=job.retry_of,
        pass_at_k=job.pass_at_k,
        retried_exceptions=list(job.retried_exceptions),
    )
