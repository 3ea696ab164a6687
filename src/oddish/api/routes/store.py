"""The object store's signed URLs, for stores that cannot serve their own."""

from fastapi import Response
from starlette.requests import Request

from oddish.api.downloads import download
from oddish.api.routing import router as new_router
from oddish.api.services import Services, ServicesOf
from oddish.errors import NotFound
from oddish.storage.intake import accept_upload
from oddish.storage.signing import Grant
from oddish.tasks.arrivals import drop_unneeded
from oddish.trials.deletion import of_deleted_trial

router = new_router()


@router.put("/store/{key:path}", include_in_schema=False)
async def upload(key: str, request: Request, services: ServicesOf) -> Response:
    """Store what the signature in the URL allows, once."""
    grant = _grant(key, request, services)
    announced = request.headers.get("content-length", "")
    await accept_upload(
        services.store,
        grant,
        request.stream(),
        content_length=int(announced) if announced.isdecimal() else None,
        content_type=request.headers.get("content-type"),
    )
    await drop_unneeded(services.reads, services.store, grant.key)
    return Response(status_code=200)


@router.get("/store/{key:path}", include_in_schema=False)
async def fetch(key: str, request: Request, services: ServicesOf) -> Response:
    """The object that the signature in the URL names, or the bytes of it that `Range` asks for."""
    grant = _grant(key, request, services)
    async with services.reads.connect() as connection:
        if await of_deleted_trial(connection, grant.key):
            raise NotFound("The trial that this file is of was deleted.")
    found = await services.store.head(grant.key)
    return download(services.store, grant.key, found.size, request)


def _grant(key: str, request: Request, services: Services) -> Grant:
    if not services.store.signs_itself:
        raise NotFound("This deployment's store serves its own URLs.", fix="Use the URL as it was given.")
    return services.signer.verify(request.method, key, request.query_params)
