"""The job gateway: how its jobs are, what they left, and cancelling them."""

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import Header, Query
from starlette.requests import Request
from starlette.responses import Response

from oddish.api import eventstream
from oddish.api.authentication import PrincipalOf
from oddish.api.eventstream import EventStream
from oddish.api.feeds import MOST_FOLLOWERS
from oddish.api.idempotency import Once, RepeatableOf
from oddish.api.jobstream import follow_job
from oddish.api.links import absolute
from oddish.api.paging import page
from oddish.api.routing import router as new_router
from oddish.api.services import Services, ServicesOf
from oddish.db.deadlock import outlast_deadlocks
from oddish.errors import Unavailable
from oddish.gateway import jobs
from oddish.gateway.artifacts import Left, archive, files_left, take_stock
from oddish.gateway.document import job_document, job_listing
from oddish.gateway.events import events_after
from oddish.gateway.refill import JobUnfinished
from oddish.gateway.trials import find_trials, trials_of_jobs, with_records
from oddish.identity.principal import Principal
from oddish.schemas import gatewayexamples as examples
from oddish.schemas.gatewayjobs import (
    ArtifactFile,
    ArtifactsArchive,
    JobAccepted,
    JobArtifacts,
    JobDocument,
    JobListed,
    JobPage,
    JobStatus,
    TrialArtifacts,
)

ROOT = "/sandbox/harbor/v2"
LINK_SECONDS = 3600
MOST_LINKS = 1000
EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "`job.queued`, `trial.started`, `trial.phase`, `trial.finished` and, at last, `job.finished`, "
        "with ids that count from 1. A comment says now and then that there is nothing new. Ask again where a stream "
        "ends without `job.finished`.",
        "content": {eventstream.MEDIA_TYPE: {"example": examples.EVENTS}},
    },
    204: {"description": "The last event was read: there is no more."},
}

type Limit = Annotated[int, Query(ge=1, le=1000)]

router = new_router()
_EVENT_ID = re.compile(r"[0-9]{1,18}")


@router.get(f"{ROOT}/jobs", tags=["gateway"])
async def list_jobs(
    principal: PrincipalOf,
    services: ServicesOf,
    limit: Limit = 100,
    cursor: str | None = None,
    status: Annotated[JobStatus | None, Query(description="Only those of this status.")] = None,
) -> JobPage:
    """The jobs of the organisation, the newest first, with what came of them in short."""
    async with services.reads.connect() as connection:
        found = await jobs.page(connection, principal, limit=limit + 1, after=cursor, status=status)
        shown = found[:limit]
        trials = await trials_of_jobs(connection, [job.id for job in shown if not job.unfinished])
    return JobPage(
        jobs=[JobListed.model_validate(job_listing(job, trials.get(job.id, ()))) for job in shown],
        cursor=shown[-1].id if len(found) > limit else None,
    )


@router.get(f"{ROOT}/jobs/{{job_id}}", tags=["gateway"], response_model=JobDocument)
async def get_job(job_id: str, request: Request, principal: PrincipalOf, services: ServicesOf) -> Response:
    """How far a job is and, once it has ended, what came of it and whether its rewards may be believed."""
    return await document_of(services, request, principal, job_id)


@router.get(f"{ROOT}/jobs/{{job_id}}/events", tags=["gateway"], response_class=Response, responses=EVENTS)
async def follow_events(
    job_id: str,
    principal: PrincipalOf,
    services: ServicesOf,
    last_event_id: Annotated[
        str | None, Header(description="The id of the last event that was read; what is no id counts as none.")
    ] = None,
) -> Response:
    """What happens to a job, as it happens, from the first event on or from the one after `Last-Event-ID`."""
    read = int(last_event_id) if last_event_id and _EVENT_ID.fullmatch(last_event_id) else 0
    async with services.reads.connect() as connection:
        job = await jobs.get(connection, principal, job_id)
        first = [] if job.unfinished else await events_after(connection, job_id, read, ended_job=job)
    if not (first or job.unfinished):
        return Response(status_code=204)
    refuse_crowd(services)
    return EventStream(follow_job(services.gateway_feeds, services.reads, job_id, read, first))


@router.post(f"{ROOT}/jobs/{{job_id}}/cancel", tags=["gateway"], response_model=JobAccepted)
async def cancel_job(job_id: str, repeatable: RepeatableOf, principal: PrincipalOf, services: ServicesOf) -> Response:
    """Stop a job. What runs ends within seconds; trials that have ended, and jobs that have, stay as they are."""

    async def work(once: Once) -> bytes:
        async def conclude() -> bytes:
            async with once.transaction() as connection:
                job = await jobs.cancel(connection, principal, job_id)
                return await once.keep(connection, JobAccepted(job_id=job.id, status=job.status))

        return await outlast_deadlocks(conclude)

    return await repeatable.answer(work)


@router.get(f"{ROOT}/jobs/{{job_id}}/artifacts", tags=["gateway"])
async def list_artifacts(
    job_id: str,
    request: Request,
    principal: PrincipalOf,
    services: ServicesOf,
    presign: Annotated[bool, Query(description="With a signed URL of each file.")] = False,
    limit: Limit = 1000,
    cursor: str | None = None,
) -> JobArtifacts:
    """What the trials of a job left, as far as they have ended: the files, in the order of their paths."""
    async with services.reads.connect() as connection:
        await jobs.get(connection, principal, job_id)
        left = await files_left(connection, job_id)
    trials, files, keys = [], [], {}
    for artifacts in await take_stock(services.store, left):
        trial, manifest = artifacts.left, artifacts.manifest
        trials.append(
            TrialArtifacts(
                trial_id=trial.trial_id,
                agent=trial.agent,
                attempt=trial.attempt,
                files=len(manifest.files),
                bytes=sum(file.size for file in manifest.files),
                not_stored_count=manifest.skipped_count,
            )
        )
        for file in manifest.files:
            path = artifacts.name(file.path)
            files.append(ArtifactFile(path=path, trial_id=trial.trial_id, size=file.size, sha256=file.sha256))
            keys[path] = artifacts.key(file)
    found = page(files, prefix="", recursive=True, cursor=cursor, limit=limit)
    if presign:
        for entry in found.files:
            entry.url = await _link(services, request, keys[entry.path])
    return JobArtifacts(job_id=job_id, trials=trials, files=list(found.files), cursor=found.cursor)


@router.get(f"{ROOT}/jobs/{{job_id}}/artifacts/archive", tags=["gateway"])
async def get_archive(job_id: str, request: Request, principal: PrincipalOf, services: ServicesOf) -> ArtifactsArchive:
    """A signed URL of a zip of all that the trials of a job left, which is made when it is first asked for.

    409 until the job has ended.
    """
    async with services.reads.connect() as connection:
        job = await jobs.get(connection, principal, job_id)
        if job.unfinished:
            raise JobUnfinished(f"Job {job_id!r} is {job.status}.", fix="Ask again when it has ended.")
    made = await archive(services.reads, services.store, job_id)
    expires_at = datetime.now(UTC) + timedelta(seconds=LINK_SECONDS)
    url = await _link(services, request, made.key)
    return ArtifactsArchive(url=url, expires_at=expires_at, size=made.size, sha256=made.sha256)


async def document_of(services: Services, request: Request, principal: Principal, job_id: str) -> Response:
    """As it is sent: what Harbor recorded stays as it was written. Raises ``NotFound``."""
    async with services.reads.connect() as connection:
        job = await jobs.get(connection, principal, job_id)
        found = await find_trials(connection, job_id)
        verified = job.kind == "verify" and not job.unfinished
        left = await files_left(connection, job_id) if verified else []
    trials = [entry.trial for entry in found] if job.unfinished else await with_records(services.store, found)
    document = job_document(job, trials, downloads=await _downloads(services, request, left))
    return Response(json.dumps(document, allow_nan=False, default=_moment), media_type="application/json")


def refuse_crowd(services: Services) -> None:
    """Raise ``Unavailable`` where as many follow as one server takes."""
    if services.gateway_feeds.full:
        raise Unavailable(
            f"{MOST_FOLLOWERS} followers are as many as one server takes.",
            fix="Try again in a moment, or poll the job.",
        )


async def _downloads(services: Services, request: Request, left: Sequence[Left]) -> dict[str, str]:
    stock = await take_stock(services.store, left)
    keys = {artifacts.name(file.path): artifacts.key(file) for artifacts in stock for file in artifacts.manifest.files}
    return {path: await _link(services, request, keys[path]) for path in sorted(keys)[:MOST_LINKS]}


async def _link(services: Services, request: Request, key: str) -> str:
    return absolute(services, request, await services.store.download_url(key, expires_in=LINK_SECONDS))


def _moment(value: object) -> str:
    assert isinstance(value, datetime)  # noqa: S101
    return value.isoformat().replace("+00:00", "Z")
