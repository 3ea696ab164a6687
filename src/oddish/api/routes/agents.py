"""What can attempt tasks."""

from typing import Annotated

from fastapi import Query

from oddish.api.authentication import PrincipalOf
from oddish.api.routing import router as new_router
from oddish.api.services import ServicesOf
from oddish.schemas.base import Name
from oddish.schemas.credentials import AgentsResponse
from oddish.trials.agents import list_agents

router = new_router()


@router.get("/agents", tags=["credentials"])
async def agents(
    principal: PrincipalOf,
    services: ServicesOf,
    agent: Annotated[Name | None, Query(description="Only this one; an unknown name gives none.")] = None,
    model: Annotated[Name | None, Query(description="As in a submission: what is needed depends on it.")] = None,
) -> AgentsResponse:
    """The agents that workers know, which variables they take their credentials from, and which of those are there."""
    found = await list_agents(
        services.reads,
        principal,
        name=agent,
        model=model,
        patience_seconds=services.settings.publication_wait_seconds,
    )
    return AgentsResponse.model_validate(found)
