"""The pages of exports, for whoever is of the organisation."""

from functools import partial

from anyio import to_thread
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from oddish.api.authentication import principal_of
from oddish.api.routing import PageRoute
from oddish.api.routing import router as new_router
from oddish.api.services import services_of
from oddish.api.sites import EXPORT, SITE
from oddish.exports.registry import Place
from oddish.web.pages import Endpoint, respond
from oddish.web.viewer.routes import OF_DATASET, name_of, shown
from oddish.web.viewer.shelf import Show


def _endpoint(show: Show) -> Endpoint:
    async def answer(request: Request) -> Response:
        ids = request.path_params
        place = Place(principal_of(request).org_id, ids["project"], ids["dataset"])
        async with services_of(request).export_shelves.open(place) as shelf:
            return await to_thread.run_sync(respond, SITE, partial(shown, shelf, show), request)

    answer.__name__, answer.__doc__ = f"export_{name_of(show)}", show.__doc__
    return answer


def _router() -> APIRouter:
    router = new_router(PageRoute)
    for path, show in OF_DATASET.items():
        router.add_api_route(f"{EXPORT}{path}", _endpoint(show), include_in_schema=False)
    return router


router = _router()
