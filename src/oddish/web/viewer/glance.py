"""What a dataset comes to, as far as that is told without reading large files."""

from collections.abc import Iterable
from dataclasses import dataclass

from oddish.viewer.aggregates import measured
from oddish.viewer.findings import Finding
from oddish.viewer.summaries import Summary
from oddish.web.viewer.shelf import Shelf

MIB = 1024 * 1024
MOST_OF_ONE, MOST_OF_ALL = 2 * MIB, 8 * MIB
"""Bytes of summaries that are read for one page."""


@dataclass(frozen=True, slots=True)
class Glance:
    tasks: int
    models: int
    harnesses: int
    cells: int
    measured_cells: int
    attempts: int
    problems: int
    """Of its summary."""


@dataclass(frozen=True, slots=True)
class Glances:
    by_dataset: dict[str, Glance]
    """Those that were read."""
    bytes: dict[str, int]
    """Of the summaries that were too large to be read for this."""
    findings: tuple[Finding, ...]
    """Of the datasets that cannot be shown as they are."""


def glances(shelf: Shelf, project: str, datasets: Iterable[str]) -> Glances:
    found: dict[str, Glance] = {}
    large: dict[str, int] = {}
    findings: list[Finding] = []
    left = MOST_OF_ALL
    for dataset in datasets:
        size = shelf.results.summary_bytes(project, dataset)
        if size is not None and size > min(left, MOST_OF_ONE):
            large[dataset] = size
            continue
        left -= size or 0
        reading = shelf.results.summary(project, dataset)
        if reading.value is None or reading.is_stale:
            findings += reading.findings[:1]
        if reading.value is not None:
            found[dataset] = _glance(reading.value, len(reading.findings))
    return Glances(found, large, tuple(findings))


def _glance(summary: Summary, problems: int) -> Glance:
    cells = [measured(cell) for cell in summary.cells]
    return Glance(
        tasks=len(summary.tasks),
        models=len(summary.models),
        harnesses=len(summary.harnesses),
        cells=len(cells),
        measured_cells=sum(cell.measured > 0 for cell in cells),
        attempts=sum(cell.attempts for cell in cells),
        problems=problems,
    )
