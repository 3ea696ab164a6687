"""The first page of a results directory: its projects."""

from dataclasses import dataclass

from starlette.requests import Request

from oddish.viewer.findings import Finding
from oddish.web.pages import Page
from oddish.web.paging import Paging, paging
from oddish.web.viewer.shelf import Shelf


@dataclass(frozen=True, slots=True)
class Entry:
    id: str
    label: str
    description: str | None
    datasets: int
    runs: int
    address: str


@dataclass(frozen=True, slots=True)
class Projects:
    projects: tuple[Entry, ...]
    paging: Paging
    findings: tuple[Finding, ...]


def show(shelf: Shelf, request: Request) -> Page:
    """The projects of a results directory."""
    listing = shelf.results.projects()
    shown = paging(request.query_params, len(listing.ids))
    readings = {project: shelf.results.project(project) for project in shown.of(listing.ids)}
    entries = tuple(
        Entry(
            id=project,
            label=(reading.value and reading.value.label) or project,
            description=reading.value.description if reading.value else None,
            datasets=len(shelf.results.datasets(project).ids),
            runs=len(shelf.results.runs(project).ids),
            address=shelf.links.project(project),
        )
        for project, reading in readings.items()
    )
    findings = listing.findings + tuple(finding for reading in readings.values() for finding in reading.findings)
    return Page("viewer/projects.html", shelf.label, Projects(entries, shown, findings), trail=shelf.above)
