"""Training runs of a project, one over the other in each chart."""

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.requests import Request

from oddish.viewer.findings import Finding
from oddish.web.pages import Page
from oddish.web.viewer.shelf import Shelf
from oddish.web.viewer.training import TrainedRun, training

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
    there = [run for run in asked if run in listing.ids]
    found, drawn = training(shelf, project, there[:MOST])
    choices = tuple(
        Choice(run, _label(shelf, project, run), run in there[:MOST])
        for run in [*there, *(run for run in listing.ids if run not in there)][:MOST_CHOICES]
    )
    findings = (*_left_out(project, asked, there), *listing.findings, *found.findings)
    model = Runs(project, found.runs, choices, len(listing.ids), findings)
    names = {"charts": drawn.charts, "version": drawn.version}
    return Page("viewer/runs.html", "Training runs", model, trail=shelf.trail(project), drawn=names)


def _label(shelf: Shelf, project: str, run: str) -> str:
    found = shelf.results.run(project, run).value
    return (found and found.label) or run


def _left_out(project: str, asked: Sequence[str], there: Sequence[str]) -> list[Finding]:
    gone = [run for run in asked if run not in there]
    findings = [Finding("warning", f"run={run[:80]}", f"is no run of {project}.") for run in gone]
    if len(there) > MOST:
        findings.append(
            Finding("warning", "run", f"names {len(there)} runs, of which the first {MOST} are shown.", "Choose fewer.")
        )
    return findings
