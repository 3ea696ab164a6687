"""What the pages of the server have in common, and where they are."""

from collections.abc import Mapping
from pathlib import Path
from typing import override
from urllib.parse import quote

from oddish.settings import EXPORTS
from oddish.viewer.results import Results
from oddish.web.pages import Link, Site
from oddish.web.parsing import FAST
from oddish.web.viewer.links import Links, Value
from oddish.web.viewer.routes import OF_DATASET, PATHS
from oddish.web.viewer.shelf import Shelf

VIEWER = "/viewer"
SITE = Site(home=VIEWER, navigation=(Link("Viewer", VIEWER),))


def page_path(path: str) -> str:
    """Of a page of the viewer, which has the ``path`` below the directory that it shows."""
    return f"{VIEWER}/{{directory}}{path.rstrip('/')}"


EXPORTED = f"{VIEWER}/{EXPORTS}"
EXPORT = f"{EXPORTED}/{{project}}/{{dataset}}"
"""An export, and its page."""
VIEWER_PATHS = (VIEWER, *map(page_path, PATHS))
EXPORT_PATHS = tuple(f"{EXPORT}{path}" for path in OF_DATASET)


class ExportLinks(Links):
    """Addresses of the pages of an export, above which is the list of those of its project."""

    def __init__(self) -> None:
        super().__init__(EXPORTED)

    @override
    def projects(self, **query: Value) -> str:
        return Links(VIEWER).projects(**query)

    @override
    def project(self, project: str, **query: Value) -> str:
        return self.projects(project=project, **query)

    @override
    def _dataset(self, project: str, dataset: str) -> str:
        return f"/{quote(project, safe='')}/{quote(dataset, safe='')}"


EXPORT_LINKS = ExportLinks()


def shelves(directories: Mapping[str, Path]) -> dict[str, Shelf]:
    """Results directories as pages show them, by name."""
    return {
        name: Shelf(
            Results(path, FAST), Links(f"{VIEWER}/{quote(name, safe='')}"), name, above=(Link("Viewer", VIEWER),)
        )
        for name, path in directories.items()
    }
