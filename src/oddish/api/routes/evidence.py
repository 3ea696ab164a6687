"""The files that a trial left."""

from typing import Annotated

from fastapi import Header, Query, Response
from starlette.responses import StreamingResponse

from oddish.api.authentication import PrincipalOf
from oddish.api.conditions import has_current
from oddish.api.routing import router as new_router
from oddish.api.services import Services, ServicesOf
from oddish.identity.principal import Principal
from oddish.schemas.evidence import TrialFile, TrialFiles, TrialLogs
from oddish.trials.evidence import Evidence, find_evidence, read_logs, read_result

DOWNLOAD: dict[int | str, dict[str, object]] = {
    200: {"content": {"application/octet-stream": {}}},
    304: {"description": "The caller has it already."},
}

type Limit = Annotated[int, Query(ge=1, le=1000)]
type IfNoneMatch = Annotated[
    list[str] | None, Header(description="Entity tags of what the caller has; 304 without a body if one is current.")
]

router = new_router()


@router.get("/trials/{trial_id}/files", tags=["trials"])
async def files(
    trial_id: str,
    principal: PrincipalOf,
    services: ServicesOf,
    prefix: str = "",
    limit: Limit = 1000,
    cursor: str | None = None,
) -> TrialFiles:
    """The files of the attempt that decided the trial, in the order of their paths."""
    evidence = await _evidence(services, principal, trial_id)
    found = [file for file in evidence.files if file.path.startswith(prefix) and (cursor is None or file.path > cursor)]
    return TrialFiles(
        trial_id=trial_id,
        files=[TrialFile.model_validate(file) for file in found[:limit]],
        cursor=found[limit - 1].path if len(found) > limit else None,
    )


@router.get("/trials/{trial_id}/files/{path:path}", tags=["trials"], response_class=Response, responses=DOWNLOAD)
async def file(
    trial_id: str, path: str, principal: PrincipalOf, services: ServicesOf, if_none_match: IfNoneMatch = None
) -> Response:
    """The bytes of one file, always as a download."""
    evidence = await _evidence(services, principal, trial_id)
    found = evidence.file(path)
    tag = {"ETag": f'"{found.sha256}"'}
    if has_current(if_none_match or (), found.sha256):
        return Response(status_code=304, headers=tag)
    headers = {"Content-Length": str(found.size), "Content-Disposition": "attachment", **tag}
    return StreamingResponse(
        services.store.stream(evidence.key(found)), media_type="application/octet-stream", headers=headers
    )


@router.get("/trials/{trial_id}/result", tags=["trials"])
async def result(trial_id: str, principal: PrincipalOf, services: ServicesOf) -> Response:
    """Harbor's record of the trial, as it is."""
    evidence = await _evidence(services, principal, trial_id)
    return Response(await read_result(services.store, evidence), media_type="application/json")


@router.get("/trials/{trial_id}/logs", tags=["trials"])
async def logs(trial_id: str, principal: PrincipalOf, services: ServicesOf) -> TrialLogs:
    """The ends of the trial's text files, joined under their paths."""
    evidence = await _evidence(services, principal, trial_id)
    return TrialLogs(trial_id=trial_id, logs=await read_logs(services.store, evidence), s3_key=evidence.prefix)


async def _evidence(services: Services, principal: Principal, trial_id: str) -> Evidence:
    async with services.reads.connect() as connection:
        return await find_evidence(connection, services.store, principal, trial_id)
