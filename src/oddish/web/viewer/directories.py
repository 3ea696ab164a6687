"""The first page of a server: the results directories that it shows, and the exports of the caller's organisation."""

from collections.abc import Mapping
from dataclasses import dataclass

from oddish.web.pages import Link, Page
from oddish.web.paging import Paging
from oddish.web.viewer.shelf import Shelf

TITLE = "Viewer"


@dataclass(frozen=True, slots=True)
class Directory:
    name: str
    address: str


@dataclass(frozen=True, slots=True)
class ExportEntry:
    project: str
    dataset: str
    address: str
    project_address: str
    """Of the list of the project's exports."""
    bytes: int
    """As it was sent."""
    exported_by: str
    exported_at: str
    """ISO 8601, in UTC."""


@dataclass(frozen=True, slots=True)
class Directories:
    directories: tuple[Directory, ...]
    exports: tuple[ExportEntry, ...]
    paging: Paging
    """Of the exports."""


def show(shelves: Mapping[str, Shelf], exports: tuple[ExportEntry, ...], paging: Paging) -> Page:
    found = tuple(Directory(name, shelf.links.projects()) for name, shelf in shelves.items())
    return Page("viewer/directories.html", TITLE, Directories(found, exports, paging))


def of_project(project: str, home: str, exports: tuple[ExportEntry, ...], paging: Paging) -> Page:
    """The exports of one project alone, below the page at ``home``."""
    model = Directories((), exports, paging)
    return Page("viewer/directories.html", project, model, trail=[Link(TITLE, home)])
