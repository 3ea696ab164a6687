"""Uploading a task."""

from starlette.requests import Request

from oddish import ids
from oddish.api.authentication import PrincipalOf
from oddish.api.routing import router as new_router
from oddish.api.services import ServicesOf
from oddish.schemas.uploads import UploadComplete, UploadedVersion, UploadInit, UploadTarget
from oddish.tasks import uploads

ARCHIVE_TYPE = "application/gzip"

router = new_router()


@router.post("/tasks/upload/init", tags=["tasks"])
async def init(body: UploadInit, request: Request, principal: PrincipalOf, services: ServicesOf) -> UploadTarget:
    """Reserve the task's name and get a signed URL for its archive, unless this content is there already."""
    settings = services.settings
    wanted = uploads.UploadRequest(
        name=body.name, client_hash=body.content_hash, message=body.message, force_new=body.force_new_version
    )
    reservation = await uploads.reserve(services.engine, principal, wanted, expires_in=settings.upload_expiry_seconds)
    url, headers = None, {}
    if reservation.object_key is not None:
        signed = await services.store.upload_url(
            reservation.object_key,
            size_limit=settings.max_archive_bytes,
            expires_in=settings.upload_expiry_seconds,
            content_type=ARCHIVE_TYPE,
        )
        base = settings.public_url.rstrip("/") or str(request.base_url).rstrip("/")
        url = base + signed.url if services.store.signs_itself else signed.url
        headers = signed.headers
    return UploadTarget(
        task_id=reservation.task_id,
        name=reservation.name,
        version=reservation.version,
        version_id=ids.version_id(reservation.task_id, reservation.version),
        existing_task=reservation.existing_task,
        content_unchanged=reservation.object_key is None,
        content_hash=reservation.content_hash,
        upload_url=url,
        upload_headers=headers,
        requires_completion=reservation.object_key is not None,
    )


@router.post("/tasks/upload/complete", tags=["tasks"])
async def complete(body: UploadComplete, principal: PrincipalOf, services: ServicesOf) -> UploadedVersion:
    """Make a version of the archive that was sent. Repeating it changes nothing."""
    registered = await uploads.complete(
        services.engine,
        services.store,
        services.archive_limits,
        principal,
        task_id=body.task_id,
        client_hash=body.content_hash,
        user_name=body.user,
    )
    return UploadedVersion(
        task_id=registered.task_id,
        name=registered.name,
        version=registered.version,
        version_id=ids.version_id(registered.task_id, registered.version),
        existing_task=registered.existing_task,
        content_unchanged=registered.content_unchanged,
        content_hash=registered.content_hash,
    )
