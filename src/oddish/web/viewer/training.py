"""What the pages of training runs have in common: what each run came to, and charts of its metrics."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from starlette.datastructures import QueryParams

from oddish.viewer.curves import Metric, Progress, curve, flat_steps, metrics, progress
from oddish.viewer.findings import Finding
from oddish.viewer.steps import Steps
from oddish.web.charts.lines import Series, line_chart
from oddish.web.viewer.shelf import Shelf

TOLD_STEPS = 1_000
BAND = "± one standard deviation"
FLAT = "flat steps: they taught nothing"
MOST_CHARTS = 36
"""At once: of a single run all that have steps of their own."""
LONGEST = 100
"""Characters of what is looked for in the names of metrics."""


@dataclass(frozen=True, slots=True)
class TrainedRun:
    id: str
    label: str
    description: str | None
    address: str
    csv: str
    """Address of all its steps."""
    progress: Progress
    columns: Mapping[str, Sequence[float]]
    """The last ``TOLD_STEPS`` steps."""


@dataclass(frozen=True, slots=True)
class Charted:
    """Which metrics are drawn."""

    find: str
    """Words that are all in the name."""
    shown: int
    found: int
    of: int


@dataclass(frozen=True, slots=True)
class Training:
    project: str
    runs: tuple[TrainedRun, ...]
    metrics: Charted
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Drawn:
    charts: tuple[Markup, ...]
    """One for each metric that is shown."""
    version: str
    """Another one when there is anything new to see."""


def training(shelf: Shelf, project: str, ids: Sequence[str], query: QueryParams) -> tuple[Training, Drawn]:
    """The runs, which are there, and charts of those of their metrics that ``metric`` in the query asks for."""
    readings = [(shelf.results.run(project, run), shelf.results.metrics(project, run)) for run in ids]
    steps = [found.value.steps if found.value else Steps() for _, found in readings]
    runs = tuple(
        TrainedRun(
            id=identity,
            label=(run.value and run.value.label) or identity,
            description=run.value.description if run.value else None,
            address=shelf.links.run(project, identity),
            csv=shelf.links.metrics(project, identity),
            progress=progress(taken),
            columns={name: taken.column(name, max(0, len(taken) - TOLD_STEPS)) for name in taken.names()},
        )
        for identity, (run, _), taken in zip(ids, readings, steps, strict=True)
    )
    findings = tuple(finding for pair in readings for reading in pair for finding in reading.findings)
    find = query.get("metric", "").strip()[:LONGEST]
    there = metrics(steps)
    chosen = [metric for metric in there if _is_named(metric, find)]
    charts = tuple(_charts(runs, steps, chosen[:MOST_CHARTS]))
    charted = Charted(find, len(charts), len(chosen), len(there))
    seen = repr([(run.label, run.progress) for run in runs]) + "".join(charts)
    return Training(project, runs, charted, findings), Drawn(charts, hashlib.sha256(seen.encode()).hexdigest()[:16])


def _is_named(metric: Metric, find: str) -> bool:
    name = f"{metric.name} {metric.label}".casefold()
    return all(word in name for word in find.casefold().split())


def _charts(runs: Sequence[TrainedRun], steps: Sequence[Steps], shown: Sequence[Metric]) -> Iterator[Markup]:
    names = _names(runs)
    links = [("CSV" if len(runs) == 1 else f"CSV of {name}", run.csv) for name, run in zip(names, runs, strict=True)]
    for metric in shown:
        series = [_series(name, taken, metric) for name, taken in zip(names, steps, strict=True)]
        yield line_chart(metric.label, series, x_label="step", band_label=BAND, marks_label=FLAT, links=links)


def _series(name: str, steps: Steps, metric: Metric) -> Series:
    found = curve(steps, metric)
    return Series(name, found.steps, found.values, found.band, flat_steps(steps) if metric.spread else ())


def _names(runs: Sequence[TrainedRun]) -> list[str]:
    """Labels; with the id where two runs have the same."""
    labels = [run.label for run in runs]
    return [run.label if labels.count(run.label) == 1 else f"{run.label} ({run.id})" for run in runs]
