"""What the pages of the server have in common, and where they are."""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from oddish.viewer.results import Results
from oddish.web.pages import Link, Site
from oddish.web.viewer.links import Links
from oddish.web.viewer.routes import PATHS
from oddish.web.viewer.shelf import Shelf

VIEWER = "/viewer"
SITE = Site(home=VIEWER, navigation=(Link("Viewer", VIEWER),))


def page_path(path: str) -> str:
    """Of a page of the viewer, which has the ``path`` below the directory that it shows."""
    return f"{VIEWER}/{{directory}}{path.rstrip('/')}"


VIEWER_PATHS = (VIEWER, *map(page_path, PATHS))


def shelves(directories: Mapping[str, Path]) -> dict[str, Shelf]:
    """Results directories as pages show them, by name."""
    return {
        name: Shelf(Results(path), Links(f"{VIEWER}/{quote(name, safe='')}"), name, above=(Link("Viewer", VIEWER),))
        for name, path in directories.items()
    }
