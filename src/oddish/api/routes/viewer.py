"""The viewer's pages, for the results directories that the deployment shows to its users, and what all pages need."""

from datetime import UTC

from anyio import to_thread
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from oddish.api.authentication import principal_of
from oddish.api.routing import PageRoute
from oddish.api.routing import router as new_router
from oddish.api.services import services_of
from oddish.api.sites import EXPORT_LINKS, SITE, VIEWER, page_path
from oddish.errors import NotFound
from oddish.exports import registry
from oddish.exports.registry import Export
from oddish.web import assets
from oddish.web.pages import respond
from oddish.web.paging import SIZE, paging
from oddish.web.viewer import directories
from oddish.web.viewer.directories import ExportEntry
from oddish.web.viewer.routes import endpoints
from oddish.web.viewer.shelf import Shelf


def _shelf(request: Request) -> Shelf:
    name = str(request.path_params["directory"])
    shelf = services_of(request).shelves.get(name)
    if shelf is None:
        raise NotFound(f"No results directory is called {name!r} here.", fix="ODDISH_VIEWER_DIRECTORIES names them.")
    return shelf


async def _first(request: Request) -> Response:
    """The results directories that the deployment shows, and the exports of the caller's organisation."""
    services, project = services_of(request), request.query_params.get("project") or None
    org_id = principal_of(request).org_id
    async with services.reads.connect() as connection:
        shown = paging(request.query_params, await registry.count(connection, org_id, project))
        first = max(shown.first - 1, 0)
        found = await registry.listing(connection, org_id, project=project, offset=first, limit=SIZE)
    exports = tuple(map(_entry, found))
    if project is None:
        page = directories.show(services.shelves, exports, shown)
    else:
        page = directories.of_project(project, VIEWER, exports, shown)
    return await to_thread.run_sync(respond, SITE, lambda _: page, request)


def _entry(export: Export) -> ExportEntry:
    return ExportEntry(
        project=export.project,
        dataset=export.dataset,
        address=EXPORT_LINKS.dataset(export.project, export.dataset),
        project_address=EXPORT_LINKS.project(export.project),
        bytes=export.bytes,
        exported_by=export.exported_by,
        exported_at=export.exported_at.astimezone(UTC).isoformat(timespec="seconds"),
    )


def _router() -> APIRouter:
    router = new_router(PageRoute)
    router.add_api_route(VIEWER, _first, include_in_schema=False)
    for path, endpoint in endpoints(SITE, _shelf):
        router.add_api_route(page_path(path), endpoint, include_in_schema=False)
    router.add_api_route(assets.ROUTE, assets.asset, include_in_schema=False)
    return router


router = _router()
