"""The viewer's pages, for the results directories that the deployment shows to its users, and what all pages need."""

from fastapi import APIRouter
from starlette.requests import Request

from oddish.api.routing import PageRoute
from oddish.api.routing import router as new_router
from oddish.api.services import services_of
from oddish.api.sites import SITE, VIEWER, page_path
from oddish.errors import NotFound
from oddish.web import assets, pages
from oddish.web.pages import Page
from oddish.web.viewer import directories
from oddish.web.viewer.routes import endpoints
from oddish.web.viewer.shelf import Shelf


def _shelf(request: Request) -> Shelf:
    name = str(request.path_params["directory"])
    shelf = services_of(request).shelves.get(name)
    if shelf is None:
        raise NotFound(f"No results directory is called {name!r} here.", fix="ODDISH_VIEWER_DIRECTORIES names them.")
    return shelf


def _directories(request: Request) -> Page:
    """The results directories that the deployment shows."""
    return directories.show(services_of(request).shelves)


def _router() -> APIRouter:
    router = new_router(PageRoute)
    first = pages.endpoint(SITE, _directories, name="viewer", summary=_directories.__doc__)
    router.add_api_route(VIEWER, first, include_in_schema=False)
    for path, endpoint in endpoints(SITE, _shelf):
        router.add_api_route(page_path(path), endpoint, include_in_schema=False)
    router.add_api_route(assets.ROUTE, assets.asset, include_in_schema=False)
    return router


router = _router()
