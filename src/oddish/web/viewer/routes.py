"""Every page of the viewer, by its path below the directory that it shows."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from starlette.requests import Request

from oddish.web import pages
from oddish.web.pages import Attachment, Endpoint, Page, Site
from oddish.web.viewer import dataset, metrics, project, projects, run, runs, trace, tracepair
from oddish.web.viewer.shelf import Shelf, Show

PAGES: dict[str, Show] = {
    "/": projects.show,
    "/projects/{project}": project.show,
    "/projects/{project}/datasets/{dataset}": dataset.show,
    "/projects/{project}/datasets/{dataset}/trace/{trace:path}": trace.show,
    "/projects/{project}/datasets/{dataset}/compare": tracepair.show,
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


def _endpoint(site: Site, shelf_of: Callable[[Request], Shelf], show: Show) -> Endpoint:
    def shown(request: Request) -> Page | Attachment:
        shelf = shelf_of(request)
        page = show(shelf, request)
        if isinstance(page, Attachment):
            return page
        return replace(page, drawn={"links": shelf.links, **page.drawn})

    name = show.__module__.rpartition(".")[2]
    return pages.endpoint(site, shown, name=name, summary=show.__doc__)
