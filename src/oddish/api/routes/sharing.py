"""Publishing experiments."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Path
from sqlalchemy.ext.asyncio import AsyncConnection
from starlette.responses import Response

from oddish.api.authentication import PrincipalOf
from oddish.api.idempotency import Once, Repeatable, RepeatableOf
from oddish.api.routing import router as new_router
from oddish.api.services import ServicesOf
from oddish.experiments import sharing
from oddish.identity.principal import Principal
from oddish.schemas.sharing import ShareResponse

router = new_router()

type Reference = Annotated[str, Path(description="Id or name.")]
type Change = Callable[[AsyncConnection, Principal, str], Awaitable[sharing.Share]]


@router.get("/experiments/{experiment_id}/share", tags=["experiments"])
async def share(experiment_id: Reference, principal: PrincipalOf, services: ServicesOf) -> ShareResponse:
    """Whether an experiment is published, and the token of its link."""
    async with services.reads.connect() as connection:
        return ShareResponse.model_validate(await sharing.get_share(connection, principal, experiment_id))


@router.post("/experiments/{experiment_id}/publish", tags=["experiments"], response_model=ShareResponse)
async def publish(experiment_id: Reference, repeatable: RepeatableOf, principal: PrincipalOf) -> Response:
    """Let whoever has the link read the experiment. One that is published keeps its link."""
    return await _change(repeatable, principal, experiment_id, sharing.publish)


@router.post("/experiments/{experiment_id}/unpublish", tags=["experiments"], response_model=ShareResponse)
async def unpublish(experiment_id: Reference, repeatable: RepeatableOf, principal: PrincipalOf) -> Response:
    """Let the link of an experiment lead nowhere. Publishing it again makes another link."""
    return await _change(repeatable, principal, experiment_id, sharing.unpublish)


async def _change(repeatable: Repeatable, principal: Principal, reference: str, change: Change) -> Response:
    async def work(once: Once) -> bytes:
        async with once.transaction() as connection:
            changed = await change(connection, principal, reference)
            return await once.keep(connection, ShareResponse.model_validate(changed))

    return await repeatable.answer(work)
