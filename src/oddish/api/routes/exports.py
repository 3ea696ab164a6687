"""Datasets that the organisation has the server show."""

from typing import Annotated

from fastapi import Path, Query
from starlette.requests import Request

from oddish.api.authentication import PrincipalOf
from oddish.api.routing import router as new_router
from oddish.api.services import Services, ServicesOf
from oddish.api.sites import EXPORT, EXPORT_LINKS, EXPORTED
from oddish.exports import intake, registry
from oddish.exports.registry import Export, Place
from oddish.schemas.exports import DeletedExport, ExportResponse, ExportsResponse

ARCHIVE_TYPE = "application/octet-stream"
BODY = {
    "requestBody": {
        "required": True,
        "description": "A `.tar.gz` with `projects/PROJECT/project.json` and `projects/PROJECT/datasets/DATASET/`.",
        "content": {ARCHIVE_TYPE: {"schema": {"type": "string", "format": "binary"}}},
    }
}

type Id = Annotated[str, Path(description="Without a slash, and no dot at its beginning.")]
type Limit = Annotated[int, Query(ge=1, le=1000)]

router = new_router()


@router.get(EXPORTED, tags=["exports"])
async def exports(
    request: Request,
    principal: PrincipalOf,
    services: ServicesOf,
    limit: Limit = 100,
    cursor: str | None = None,
    project: Annotated[str | None, Query(description="Only those of this one.")] = None,
) -> ExportsResponse:
    """The exports of the organisation, by project and dataset."""
    after = None if cursor is None else (cursor.partition("/")[0], cursor.partition("/")[2])
    async with services.reads.connect() as connection:
        found = await registry.listing(connection, principal.org_id, project=project, after=after, limit=limit + 1)
    shown = found[:limit]
    return ExportsResponse(
        exports=[_response(services, request, export) for export in shown],
        cursor=f"{shown[-1].project}/{shown[-1].dataset}" if len(found) > limit else None,
    )


@router.put(EXPORT, tags=["exports"], openapi_extra=BODY)
async def keep(
    project: Id, dataset: Id, request: Request, principal: PrincipalOf, services: ServicesOf
) -> ExportResponse:
    """Show a dataset to the organisation, in place of the one of that name. It is checked before anybody sees it."""
    place = intake.checked(Place(principal.org_id, project, dataset))
    async with intake.received(request.stream(), services.archive_limits) as arrived:
        kept = await services.exports.keep(principal, place, arrived)
    return _response(services, request, kept)


@router.delete(EXPORT, tags=["exports"])
async def remove(project: Id, dataset: Id, principal: PrincipalOf, services: ServicesOf) -> DeletedExport:
    """Show a dataset no more, and delete what the server keeps of it."""
    place = Place(principal.org_id, project, dataset)
    await services.exports.forget(place)
    return DeletedExport(message=f"Deleted export {place.name}.", project=project, dataset=dataset)


def _response(services: Services, request: Request, export: Export) -> ExportResponse:
    base = services.settings.public_url or str(request.base_url)
    return ExportResponse(
        project=export.project,
        dataset=export.dataset,
        url=f"{base.rstrip('/')}{EXPORT_LINKS.dataset(export.project, export.dataset)}",
        bytes=export.bytes,
        sha256=export.sha256,
        exported_by=export.exported_by,
        exported_at=export.exported_at,
    )
