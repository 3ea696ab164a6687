"""Limits of the queue and weights of its users, changed while it runs."""

from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.api.authentication import PrincipalOf
from oddish.api.routing import router as new_router
from oddish.api.services import ServicesOf
from oddish.errors import InvalidInput, NotFound
from oddish.identity.principal import Principal
from oddish.queue.keys import (
    BASELINE_AGENTS,
    BASELINE_KEY,
    DEFAULT_KEY,
    Limits,
    archive_quota,
    gateway_quota,
    normalise_model,
    normalise_provider,
    organisation_cap,
    provider_cap,
)
from oddish.queue.limits import (
    Limit,
    list_caps,
    list_keys,
    override_cap,
    override_key,
    pause_key,
    reset_cap,
    reset_key,
)
from oddish.queue.weights import Weight, list_weights
from oddish.queue.weights import set_weight as set_user_weight
from oddish.schemas.concurrency import (
    OWN_ARCHIVES,
    OWN_GATEWAY,
    OWN_ORGANISATION,
    LimitRequest,
    LimitResponse,
    LimitsResponse,
    WeightRequest,
    WeightResponse,
)

OVERRIDE = "override"
LISTED_CAPS = "GET /admin/concurrency lists the caps."

router = new_router()


@router.get("/admin/concurrency", tags=["admin"])
async def limits(principal: PrincipalOf, services: ServicesOf) -> LimitsResponse:
    """All keys and caps, their limits, where these come from and how much is in use; the weights of users."""
    async with services.reads.connect() as connection:
        keys, caps = await list_keys(connection), await list_caps(connection)
        weights = await list_weights(connection, org_id=principal.org_id)
    mine = [cap for cap in caps if cap.name.startswith("provider:") or cap.name.partition(":")[2] == principal.org_id]
    return LimitsResponse(
        keys=[_key(entry, services.limits) for entry in keys],
        caps=[_cap(entry, services.limits) for entry in mine],
        weights=[WeightResponse.model_validate(entry) for entry in weights],
    )


@router.put("/admin/concurrency", tags=["admin"])
async def set_limit(
    body: LimitRequest,
    principal: PrincipalOf,
    services: ServicesOf,
) -> LimitResponse:
    """Change one limit, or pause a queue key or let it go on.

    A lower limit takes effect with the next claim and leaves what runs alone, and so does a pause.
    """
    deployment = services.limits
    async with services.engine.begin() as connection:
        if body.queue_key is None:
            cap = _named_cap(principal, body.cap or "")
            return _cap(await _limit_cap(connection, cap, body.limit), deployment)
        key = _named_key(body.queue_key, lasting=body.limit is not None or bool(body.paused))
        changed: Limit | None = None
        if body.changes_limit:
            changed = await _limit_key(connection, key, body.limit, deployment)
        if body.paused is not None:
            changed = await pause_key(connection, key, paused=body.paused)
        if changed is None:
            raise NotFound(
                f"There is no queue key {key!r}: no trial has named it yet, and no limit.",
                fix="GET /admin/concurrency lists the keys; a new one can be given a limit, also of 0.",
            )
        return _key(changed, deployment)


@router.put("/admin/weights", tags=["admin"])
async def set_weight(body: WeightRequest, principal: PrincipalOf, services: ServicesOf) -> WeightResponse:
    """Change how much a user of the organisation gets of each queue key beside others, from the next claim on.

    Of two users with enough to run, one of weight 2 gets twice the slots of one of weight 1.
    """
    async with services.engine.begin() as connection:
        if not await set_user_weight(connection, Weight(body.user, body.weight), org_id=principal.org_id):
            raise NotFound(
                f"There is no user {body.user!r} here.",
                fix="`oddish admin key ls`, or GET /api-keys, names the users of its keys.",
            )
    return WeightResponse(user=body.user, weight=body.weight)


async def _limit_key(connection: AsyncConnection, key: str, limit: int | None, deployment: Limits) -> Limit | None:
    if limit is None:
        return await reset_key(connection, key)
    return await override_key(connection, key, limit, deploy_limit=deployment.of(key))


async def _limit_cap(connection: AsyncConnection, cap: str, limit: int | None) -> Limit:
    if limit is not None:
        return await override_cap(connection, cap, limit)
    if (changed := await reset_cap(connection, cap)) is None:
        raise NotFound(f"There is no cap {cap!r}: no trial counts against it.", fix=LISTED_CAPS)
    return changed


def _named_key(name: str, *, lasting: bool) -> str:
    """The canonical name of a key. Only what was ever set of an agent's name can be undone."""
    key = normalise_model(name) or DEFAULT_KEY
    if lasting and key in BASELINE_AGENTS:
        agents = " and ".join(sorted(BASELINE_AGENTS))
        raise InvalidInput(
            f"No trial counts against a queue key {key!r}: the agents {agents} share {BASELINE_KEY!r}.",
            fix=f"Name {BASELINE_KEY} instead.",
        )
    return key


def _named_cap(principal: Principal, name: str) -> str:
    """The canonical name of a cap that the caller may set."""
    own = organisation_cap(principal.org_id)
    if name in (OWN_ORGANISATION, own):
        return own
    quota, archives = gateway_quota(principal.org_id), archive_quota(principal.org_id)
    if name in (OWN_GATEWAY, quota):
        return quota
    if name in (OWN_ARCHIVES, archives):
        return archives
    kind, _, owner = name.partition(":")
    if kind != "provider":
        raise NotFound(f"There is no cap {name!r} here.", fix=LISTED_CAPS)
    return provider_cap(normalise_provider(owner))


def _key(entry: Limit, deployment: Limits) -> LimitResponse:
    return _response(entry, deployment.setting_of(entry.name), queue_key=entry.name)


def _cap(entry: Limit, deployment: Limits) -> LimitResponse:
    return _response(entry, deployment.setting_of_cap(entry.name), cap=entry.name)


def _response(entry: Limit, setting: str, *, queue_key: str | None = None, cap: str | None = None) -> LimitResponse:
    source = setting if entry.override_limit is None else OVERRIDE
    return LimitResponse(
        queue_key=queue_key,
        cap=cap,
        limit=entry.limit,
        source=None if entry.limit is None else source,
        deploy_limit=entry.deploy_limit,
        override_limit=entry.override_limit,
        running=entry.running,
        paused=entry.paused,
    )
