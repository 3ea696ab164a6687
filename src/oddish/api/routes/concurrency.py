"""Limits of the queue, changed while it runs."""

from oddish.api.authentication import PrincipalOf
from oddish.api.routing import router as new_router
from oddish.api.services import ServicesOf
from oddish.errors import NotFound
from oddish.queue.keys import normalise_model, organisation_cap
from oddish.queue.limits import Limit, list_caps, list_keys, override_cap, override_key
from oddish.schemas.concurrency import LimitRequest, LimitResponse, LimitsResponse

router = new_router()


@router.get("/admin/concurrency", tags=["admin"])
async def limits(principal: PrincipalOf, services: ServicesOf) -> LimitsResponse:
    """All keys and caps, their limits and how much of each is in use."""
    async with services.reads.connect() as connection:
        keys, caps = await list_keys(connection), await list_caps(connection)
    mine = [cap for cap in caps if not cap.name.startswith("org:") or cap.name == organisation_cap(principal.org_id)]
    return LimitsResponse(keys=[_key(entry) for entry in keys], caps=[_cap(entry) for entry in mine])


@router.put("/admin/concurrency", tags=["admin"])
async def set_limit(
    body: LimitRequest,
    principal: PrincipalOf,
    services: ServicesOf,
) -> LimitResponse:
    """Change one limit. A lower one takes effect with the next claim and leaves what runs alone."""
    async with services.engine.begin() as connection:
        if body.queue_key is not None:
            key = normalise_model(body.queue_key) or body.queue_key
            deploy_limit = services.limits.of(key)
            return _key(await override_key(connection, key, body.limit, deploy_limit=deploy_limit))
        assert body.cap is not None  # noqa: S101 - the body has one of them
        if body.cap.startswith("org:") and body.cap != organisation_cap(principal.org_id):
            raise NotFound(f"There is no cap {body.cap!r} here.", fix="GET /admin/concurrency lists the caps.")
        return _cap(await override_cap(connection, body.cap, body.limit))


def _key(entry: Limit) -> LimitResponse:
    return LimitResponse.model_validate(entry).model_copy(update={"queue_key": entry.name})


def _cap(entry: Limit) -> LimitResponse:
    return LimitResponse.model_validate(entry).model_copy(update={"cap": entry.name})
