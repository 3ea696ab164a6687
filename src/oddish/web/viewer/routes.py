"""Every page of the viewer, by its path below the directory that it shows."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from starlette.requests import Request

from oddish.web import pages
from oddish.web.pages import Attachment, Endpoint, Page, Site
from oddish.web.viewer import dataset, metrics, project, projects, run, runs, trace, tracepair
from oddish.web.viewer.shelf import Shelf, Show

OF_DATASET: dict[str, Show] = {"": dataset.show, "/trace/{trace:path}": trace.show, "/compare": tracepair.show}
"""Pages of one dataset, by the path below its own."""
PAGES: dict[str, Show] = {
    "/": projects.show,
    "/projects/{project}": project.show,
    **{f"/projects/{{project}}/datasets/{{dataset}}{path}": show for path, show in OF_DATASET.items()},
    "/projects/{project}/runs": runs.show,
    "/projects/{project}/runs/{run}": run.show,
}
FILES: dict[str, Show] = {"/projects/{project}/runs/{run}/metrics.csv": metrics.show}
"""What is saved and not shown."""
PATHS = (*PAGES, *FILES)


def endpoints(site: Site, shelf_of: Callable[[Request], Shelf]) -> Iterator[tuple[str, Endpoint]]:
    """Paths with what answers there. ``shelf_of`` may raise ``OddishError``."""
    for path, show in (PAGES | FILES).items():
        yield path, _endpoint(site, shelf_of, show)


def shown(shelf: Shelf, show: Show, request: Request) -> Page | Attachment:
    """What ``show`` makes of a directory, with what its template needs."""
    page = show(shelf, request)
    if isinstance(page, Attachment):
        return page
    return replace(page, drawn={"links": shelf.links, **page.drawn})


def name_of(show: Show) -> str:
    """Of its route."""
    return show.__module__.rpartition(".")[2]


def _endpoint(site: Site, shelf_of: Callable[[Request], Shelf], show: Show) -> Endpoint:
    return pages.endpoint(
        site, lambda request: shown(shelf_of(request), show, request), name=name_of(show), summary=show.__doc__
    )
