"""What the pages of training runs have in common: the runs, and what is wrong with their files."""

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.datastructures import QueryParams

from oddish.viewer.findings import Finding
from oddish.web.viewer.drawings import Charted, Drawn, RunFiles, TrainedRun
from oddish.web.viewer.shelf import Shelf

LONGEST = 100
"""Characters of what is looked for in the names of metrics."""


@dataclass(frozen=True, slots=True)
class Training:
    project: str
    runs: tuple[TrainedRun, ...]
    metrics: Charted
    findings: tuple[Finding, ...]


def training(shelf: Shelf, project: str, ids: Sequence[str], query: QueryParams) -> tuple[Training, Drawn]:
    """The runs, which are there, and charts of those of their metrics that ``metric`` in the query asks for."""
    readings = [(shelf.results.run(project, run), shelf.results.metrics(project, run)) for run in ids]
    files = [RunFiles(name, run.value, metrics.value) for name, (run, metrics) in zip(ids, readings, strict=True)]
    drawn = shelf.drawings.of(project, files, query.get("metric", "").strip()[:LONGEST])
    findings = tuple(finding for pair in readings for reading in pair for finding in reading.findings)
    return Training(project, drawn.runs, drawn.charted, findings), drawn
