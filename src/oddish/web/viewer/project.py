"""A project: what it is about, which harnesses can be relied on, its datasets and its training runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from oddish.viewer.files import Reading
from oddish.viewer.findings import Finding
from oddish.viewer.projects import Dataset, Project
from oddish.viewer.results import Listing
from oddish.viewer.runs import Run
from oddish.web.pages import Page
from oddish.web.paging import Paging, paging
from oddish.web.viewer.glance import Glance, Glances, glances
from oddish.web.viewer.shelf import Shelf


@dataclass(frozen=True, slots=True)
class Support:
    harness: str
    tier: str | None
    caveats: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DatasetEntry:
    id: str
    label: str
    notes: str | None
    address: str
    counts: Glance | None
    """None where the summary is too large to be read for this, or cannot be read."""
    summary_bytes: int | None
    """Of a summary that is too large."""


@dataclass(frozen=True, slots=True)
class RunEntry:
    id: str
    label: str
    description: str | None
    address: str


@dataclass(frozen=True, slots=True)
class ProjectModel:
    id: str
    label: str
    description: str | None
    source: Mapping[str, Any]
    support: tuple[Support, ...]
    datasets: tuple[DatasetEntry, ...]
    datasets_paging: Paging
    runs: tuple[RunEntry, ...]
    runs_paging: Paging
    overlay: str | None
    """Address of all runs of this page, one over the other."""
    findings: tuple[Finding, ...]


def show(shelf: Shelf, request: Request) -> Page:
    """A project: its datasets, its training runs, how far its harnesses can be relied on."""
    project = shelf.project(request)
    reading = shelf.results.project(project)
    found = reading.value or Project()
    listed = shelf.results.datasets(project), shelf.results.runs(project)
    datasets_paging, runs_paging = (
        paging(request.query_params, len(listing.ids), name=name)
        for listing, name in zip(listed, ("datasets", "runs"), strict=True)
    )
    seen = glances(shelf, project, datasets_paging.of(listed[0].ids))
    datasets = {name: shelf.results.dataset(project, name) for name in datasets_paging.of(listed[0].ids)}
    runs = {name: shelf.results.run(project, name) for name in runs_paging.of(listed[1].ids)}
    read: list[Listing | Reading[Project] | Reading[Dataset] | Reading[Run]]
    read = [reading, *listed, *datasets.values(), *runs.values()]
    model = ProjectModel(
        id=project,
        label=found.label or project,
        description=found.description,
        source=found.source,
        support=tuple(Support(name, entry.tier, entry.caveats) for name, entry in found.support.items()),
        datasets=tuple(
            _dataset(shelf, project, name, entry.value or Dataset(), seen) for name, entry in datasets.items()
        ),
        datasets_paging=datasets_paging,
        runs=tuple(_run(shelf, project, name, entry.value or Run()) for name, entry in runs.items()),
        runs_paging=runs_paging,
        overlay=shelf.links.runs(project, [*runs]) if len(runs) > 1 else None,
        findings=(*seen.findings, *(finding for entry in read for finding in entry.findings)),
    )
    return Page("viewer/project.html", model.label, model, trail=shelf.trail())


def _dataset(shelf: Shelf, project: str, name: str, found: Dataset, seen: Glances) -> DatasetEntry:
    return DatasetEntry(
        id=name,
        label=found.label or name,
        notes=found.notes,
        address=shelf.links.dataset(project, name),
        counts=seen.by_dataset.get(name),
        summary_bytes=seen.bytes.get(name),
    )


def _run(shelf: Shelf, project: str, name: str, found: Run) -> RunEntry:
    return RunEntry(name, found.label or name, found.description, shelf.links.run(project, name))
