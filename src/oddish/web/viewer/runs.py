"""Training runs of a project, one over the other in each chart."""

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.requests import Request

from oddish.viewer.findings import Finding
from oddish.web.pages import Page
from oddish.web.viewer.drawings import Charted, TrainedRun
from oddish.web.viewer.shelf import Shelf
from oddish.web.viewer.training import training

MOST = 6
"""Runs that can be told apart in a chart."""
MOST_CHOICES = 200


@dataclass(frozen=True, slots=True)
class Choice:
    id: str
    label: str
    is_shown: bool


@dataclass(frozen=True, slots=True)
class Runs:
    project: str
    runs: tuple[TrainedRun, ...]
    metrics: Charted
    choices: tuple[Choice, ...]
    """The project's runs."""
    of: int
    """Runs that the project has."""
    findings: tuple[Finding, ...]


def show(shelf: Shelf, request: Request) -> Page:
    """Several training runs of a project, one over the other."""
    project = shelf.project(request)
    listing = shelf.results.runs(project)
    asked = list(dict.fromkeys(request.query_params.getlist("run")))
    if (gone := next((run for run in asked if run not in listing.ids), None)) is not None:
        raise shelf.no_run(project, gone)
    found, drawn = training(shelf, project, asked[:MOST], request.query_params)
    choices = tuple(
        Choice(run, _label(shelf, project, run), run in asked[:MOST])
        for run in [*asked, *(run for run in listing.ids if run not in asked)][:MOST_CHOICES]
    )
    findings = (*_left_out(asked), *listing.findings, *found.findings)
    model = Runs(project, found.runs, found.metrics, choices, len(listing.ids), findings)
    names = {"charts": drawn.charts, "version": drawn.version}
    return Page("viewer/runs.html", "Training runs", model, trail=shelf.trail(project), drawn=names)


def _label(shelf: Shelf, project: str, run: str) -> str:
    found = shelf.results.run(project, run).value
    return (found and found.label) or run


def _left_out(asked: Sequence[str]) -> list[Finding]:
    if len(asked) <= MOST:
        return []
    said = f"names {len(asked)} runs, of which the first {MOST} are shown."
    return [Finding("warning", "run", said, "Choose fewer.")]
