"""The files that a trial left."""

from typing import Annotated

from fastapi import Header, Query, Response
from starlette.requests import Request

from oddish.api.authentication import PrincipalOf
from oddish.api.downloads import DOWNLOAD, download
from oddish.api.links import absolute
from oddish.api.paging import page
from oddish.api.routing import router as new_router
from oddish.api.services import Services, ServicesOf
from oddish.identity.principal import Principal
from oddish.schemas.evidence import (
    AgentTexts,
    AttemptResponse,
    DebugFiles,
    NamedText,
    NotStored,
    PlaceResponse,
    StructuredTrialLogs,
    TrialFile,
    TrialFiles,
    TrialLogs,
    VerifierTexts,
)
from oddish.storage.manifest import ManifestFile
from oddish.trials.evidence import Evidence, find_evidence, list_attempts, read_result, read_trajectory
from oddish.trials.inventory import take_inventory
from oddish.trials.logs import read_logs, read_structured_logs

type Limit = Annotated[int, Query(ge=1, le=1000)]
type Attempt = Annotated[
    int | None, Query(ge=1, le=2**31, description="Of which attempt. By default the one that decided the trial.")
]
type IfNoneMatch = Annotated[
    list[str] | None, Header(description="Entity tags of what the caller has; 304 without a body if one is current.")
]
type Step = Annotated[str | None, Query(description="Of a task with steps: which one. By default the last.")]

router = new_router()


@router.get("/trials/{trial_id}/files", tags=["trials"])
async def files(
    trial_id: str,
    request: Request,
    principal: PrincipalOf,
    services: ServicesOf,
    prefix: str = "",
    recursive: bool = True,
    presign: Annotated[bool, Query(description="With a signed URL of each file.")] = False,
    limit: Limit = 1000,
    cursor: str | None = None,
    attempt: Attempt = None,
) -> TrialFiles:
    """The files of the attempt that decided the trial, in the order of their paths."""
    evidence = await _evidence(services, principal, trial_id, attempt)
    found = page(evidence.files, prefix=prefix, recursive=recursive, cursor=cursor, limit=limit)

    async def described(file: ManifestFile) -> TrialFile:
        response = TrialFile.model_validate(file)
        if presign:
            response.url = absolute(services, request, await services.store.download_url(evidence.key(file)))
        return response

    return TrialFiles(
        trial_id=trial_id,
        attempt=evidence.attempt,
        attempts=[AttemptResponse.model_validate(entry) for entry in evidence.attempts],
        files=[await described(file) for file in found.files],
        not_stored=[NotStored.model_validate(entry) for entry in evidence.manifest.skipped],
        not_stored_count=evidence.manifest.skipped_count,
        cursor=found.cursor,
    )


@router.get("/trials/{trial_id}/files/{path:path}", tags=["trials"], response_class=Response, responses=DOWNLOAD)
async def file(
    trial_id: str,
    path: str,
    request: Request,
    principal: PrincipalOf,
    services: ServicesOf,
    if_none_match: IfNoneMatch = None,
    attempt: Attempt = None,
) -> Response:
    """The bytes of one file, or those that `Range` asks for, always as a download."""
    evidence = await _evidence(services, principal, trial_id, attempt)
    found = evidence.file(path)
    return download(services.store, evidence.key(found), found.size, request, tag=found.sha256)


@router.get("/trials/{trial_id}/result", tags=["trials"])
async def result(trial_id: str, principal: PrincipalOf, services: ServicesOf, attempt: Attempt = None) -> Response:
    """Harbor's record of the trial, as it is."""
    evidence = await _evidence(services, principal, trial_id, attempt)
    return Response(await read_result(services.store, evidence), media_type="application/json")


@router.get("/trials/{trial_id}/trajectory", tags=["trials"])
async def trajectory(
    trial_id: str, principal: PrincipalOf, services: ServicesOf, step: Step = None, attempt: Attempt = None
) -> Response:
    """What the agent did, in the ATIF format; null where it left no trajectory."""
    evidence = await _evidence(services, principal, trial_id, attempt)
    return Response(await read_trajectory(services.store, evidence, step=step), media_type="application/json")


@router.get("/trials/{trial_id}/logs", tags=["trials"])
async def logs(trial_id: str, principal: PrincipalOf, services: ServicesOf, attempt: Attempt = None) -> TrialLogs:
    """The ends of the trial's text files, joined under their paths."""
    evidence = await _evidence(services, principal, trial_id, attempt)
    return TrialLogs(trial_id=trial_id, logs=await read_logs(services.store, evidence), s3_key=evidence.prefix)


@router.get("/trials/{trial_id}/logs/structured", tags=["trials"])
async def structured_logs(
    trial_id: str, principal: PrincipalOf, services: ServicesOf, attempt: Attempt = None
) -> StructuredTrialLogs:
    """The ends of the trial's text files by who wrote them."""
    evidence = await _evidence(services, principal, trial_id, attempt)
    found = await read_structured_logs(services.store, evidence)
    return StructuredTrialLogs(
        trial_id=trial_id,
        agent=AgentTexts.model_validate(found.agent),
        verifier=VerifierTexts.model_validate(found.verifier),
        other=[NamedText.model_validate(text) for text in found.other],
        exception=found.exception,
    )


@router.get("/trials/{trial_id}/debug-files", tags=["trials"])
async def debug_files(trial_id: str, principal: PrincipalOf, services: ServicesOf) -> DebugFiles:
    """What the object store really holds of a trial, beside what the database and the manifests say."""
    async with services.reads.connect() as connection:
        attempts = await list_attempts(connection, principal, trial_id)
    found = await take_inventory(services.store, trial_id, attempts)
    return DebugFiles(
        trial_id=trial_id,
        trial_s3_key=found.stored_prefix,
        computed_prefix=found.computed_prefix,
        places=[PlaceResponse.model_validate(place) for place in found.places],
    )


async def _evidence(services: Services, principal: Principal, trial_id: str, attempt: int | None) -> Evidence:
    async with services.reads.connect() as connection:
        return await find_evidence(connection, services.store, principal, trial_id, attempt=attempt)
