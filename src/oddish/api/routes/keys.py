"""API keys, made and revoked while the deployment runs."""

from datetime import timedelta
from typing import Annotated

from fastapi import Query
from sqlalchemy.ext.asyncio import AsyncConnection
from starlette.responses import Response

from oddish.api.authentication import PrincipalOf
from oddish.api.idempotency import Once, RepeatableOf
from oddish.api.routing import router as new_router
from oddish.api.services import ServicesOf
from oddish.identity.principal import Scope
from oddish.identity.registry import KeyRequest, check_usable, create_key, list_keys, revoke_key
from oddish.schemas.keys import KeyResponse, KeysResponse, NewKeyRequest, NewKeyResponse

type Limit = Annotated[int, Query(ge=1, le=1000)]

router = new_router()


@router.post("/api-keys", tags=["keys"], response_model=NewKeyResponse)
async def create(
    body: NewKeyRequest, repeatable: RepeatableOf, principal: PrincipalOf, services: ServicesOf
) -> Response:
    """Make a key for a user of the organisation, and the user if new. It is shown in this answer only.

    Admins make keys of every scope; members make keys of scope `read` or `tasks` for themselves. A key that expires
    makes none that would expire later. When the answer is lost, a repetition with the same `Idempotency-Key` shows the
    same key, and is refused once that is revoked or expired.
    """
    wanted = KeyRequest(
        name=body.name,
        scope=Scope(body.scope),
        user=body.user,
        role=body.role,
        lifetime=None if body.expires_in_days is None else timedelta(days=body.expires_in_days),
    )

    async def work(once: Once) -> bytes:
        async with once.transaction() as connection:
            made, secret = await create_key(connection, principal, wanted)
            shown = KeyResponse.model_validate(made).model_dump()
            return await once.keep(connection, NewKeyResponse(**shown, key=secret))

    async def stands(connection: AsyncConnection, answer: bytes) -> bool:
        await check_usable(connection, NewKeyResponse.model_validate_json(answer).id)
        return True

    return (await repeatable.run(work, stands=stands)).response()


@router.get("/api-keys", tags=["keys"])
async def keys(
    principal: PrincipalOf, services: ServicesOf, limit: Limit = 200, cursor: str | None = None
) -> KeysResponse:
    """All keys of the organisation, revoked and expired ones included, newest first; never the keys themselves."""
    async with services.reads.connect() as connection:
        found = await list_keys(connection, principal, limit=limit + 1, after=cursor)
    shown = [KeyResponse.model_validate(key) for key in found[:limit]]
    return KeysResponse(keys=shown, cursor=shown[-1].id if len(found) > limit else None)


@router.delete("/api-keys/{key_id}", tags=["keys"])
async def revoke(key_id: str, principal: PrincipalOf, services: ServicesOf) -> KeyResponse:
    """End a key at once. Repeating it changes nothing.

    The last usable key of scope `full` stays, and so does that of an admin which expires after all others of admins.
    """
    async with services.engine.begin() as connection:
        return KeyResponse.model_validate(await revoke_key(connection, principal, key_id))
