"""Uploading a task."""

from datetime import timedelta

from starlette.requests import Request
from starlette.responses import Response

from oddish import ids
from oddish.api.authentication import PrincipalOf
from oddish.api.idempotency import Once, RepeatableOf
from oddish.api.links import absolute
from oddish.api.routing import router as new_router
from oddish.api.services import Services, ServicesOf
from oddish.schemas.uploads import UploadComplete, UploadedVersion, UploadInit, UploadTarget
from oddish.tasks import uploads

ARCHIVE_TYPE = "application/gzip"

router = new_router()


@router.post("/tasks/upload/init", tags=["tasks"], response_model=UploadTarget)
async def init(
    body: UploadInit, request: Request, repeatable: RepeatableOf, principal: PrincipalOf, services: ServicesOf
) -> Response:
    """Reserve the task's name and get a signed URL for its archive, unless this content is there already.

    With an `Idempotency-Key` the same URL is answered again for as long as it is valid.
    """
    expiry = services.settings.upload_expiry_seconds
    wanted = uploads.UploadRequest(
        name=body.name, client_hash=body.content_hash, message=body.message, force_new=body.force_new_version
    )

    async def work(once: Once) -> bytes:
        async with once.transaction() as connection:
            reservation = await uploads.reserve(connection, principal, wanted, expires_in=expiry)
            target = await _target(services, reservation, request)
            return await once.keep(connection, target, valid_for=timedelta(seconds=expiry))

    return await repeatable.answer(work)


@router.post("/tasks/upload/complete", tags=["tasks"], response_model=UploadedVersion)
async def complete(
    body: UploadComplete, repeatable: RepeatableOf, principal: PrincipalOf, services: ServicesOf
) -> Response:
    """Make a version of the archive that was sent. Repeating it changes nothing."""

    async def work(once: Once) -> bytes:
        delivery = await uploads.receive(
            services.reads,
            services.store,
            services.archive_limits,
            principal,
            task_id=body.task_id,
            client_hash=body.content_hash,
        )
        async with once.transaction() as connection:
            registered, redundant = await uploads.register(
                connection, principal, delivery, user_name=body.user, priority=body.priority
            )
            answer = await once.keep(connection, UploadedVersion.model_validate(registered))
        for object_key in redundant:
            await services.store.delete(object_key)
        return answer

    return await repeatable.answer(work)


async def _target(services: Services, reservation: uploads.Reservation, request: Request) -> UploadTarget:
    settings = services.settings
    url, headers = None, {}
    if reservation.object_key is not None:
        signed = await services.store.upload_url(
            reservation.object_key,
            size_limit=settings.max_archive_bytes,
            expires_in=settings.upload_expiry_seconds,
            content_type=ARCHIVE_TYPE,
        )
        url, headers = absolute(services, request, signed), signed.headers
    return UploadTarget(
        task_id=reservation.task_id,
        name=reservation.name,
        version=reservation.version,
        version_id=ids.version_id(reservation.task_id, reservation.version),
        previous_version=reservation.previous_version,
        existing_task=reservation.existing_task,
        content_unchanged=reservation.object_key is None,
        content_hash=reservation.content_hash,
        upload_url=url,
        upload_headers=headers,
        requires_completion=reservation.object_key is not None,
    )
