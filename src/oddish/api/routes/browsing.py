"""Finding tasks."""

from typing import Annotated

from fastapi import Query
from starlette.requests import Request

from oddish.api.authentication import PrincipalOf
from oddish.api.routing import router as new_router
from oddish.api.services import ServicesOf
from oddish.browsing import parse
from oddish.browsing.flaws import Flaw, InvalidFilter
from oddish.browsing.parameters import schemas
from oddish.browsing.values import words_of
from oddish.schemas.browsing import BrowseResponse, ExperimentOptionsResponse, FacetsResponse, TotalResponse
from oddish.schemas.tasks import ExperimentRef
from oddish.trials import browsing
from oddish.trials.facets import list_experiments, list_facets

type Limit = Annotated[int, Query(ge=1, le=200)]
type Text = Annotated[str, Query(max_length=1000)]

router = new_router()


@router.get("/tasks/browse", tags=["tasks"], openapi_extra={"parameters": schemas()})
async def browse(request: Request, principal: PrincipalOf, services: ServicesOf) -> BrowseResponse | TotalResponse:
    """Tasks that pass a filter, with what the trials of their current version come to; or only how many they are.

    Several filters all have to pass. Those that take several values take them between commas or repeated.
    """
    wanted = parse(request.query_params.multi_items())
    async with services.reads.connect() as connection:
        if wanted.count_only:
            return TotalResponse(total=await browsing.count(connection, principal, wanted))
        page = await browsing.browse(connection, principal, wanted)
    return BrowseResponse.model_validate(
        {"items": page.items, "limit": wanted.limit, "offset": wanted.offset, "has_more": page.has_more}
    )


@router.get("/tasks/browse/facets", tags=["tasks"])
async def facets(principal: PrincipalOf, services: ServicesOf) -> FacetsResponse:
    """The values that occur, by the filter of tasks that takes them."""
    async with services.reads.connect() as connection:
        return FacetsResponse.model_validate(await list_facets(connection, principal))


@router.get("/tasks/browse/experiment-options", tags=["tasks"])
async def experiment_options(
    principal: PrincipalOf,
    services: ServicesOf,
    query: Annotated[Text, Query(description="What the name holds.")] = "",
    ids: Annotated[Text, Query(description="Ids or names between commas: only these.")] = "",
    limit: Limit = 50,
) -> ExperimentOptionsResponse:
    """Experiments to choose from, the last active first."""
    try:
        wanted = words_of(ids) if ids.strip() else ()
    except Flaw as found:
        raise InvalidFilter(f"ids {found.reason}.", fix=found.fix) from None
    async with services.reads.connect() as connection:
        found_ones = await list_experiments(connection, principal, query=query.strip() or None, ids=wanted, limit=limit)
    return ExperimentOptionsResponse(items=[ExperimentRef.model_validate(one) for one in found_ones])
