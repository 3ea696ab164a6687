"""Training runs as they are shown: what each run came to, and charts of its metrics, drawn anew when there is more."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from oddish.viewer.curves import Metric, Progress, curve, flat_steps, metrics, progress
from oddish.viewer.derived import Derived
from oddish.viewer.metrics import Metrics
from oddish.viewer.runs import Run
from oddish.viewer.steps import Steps
from oddish.web.charts.lines import Series, line_chart
from oddish.web.charts.thinning import Course
from oddish.web.viewer.links import Links

TOLD_STEPS = 1_000
MOST_CHARTS = 36
"""At once: of a single run all that have steps of their own."""
KEPT = 16
"""Pages of which the charts are remembered."""
BAND = "± one standard deviation"
FLAT = "flat steps: they taught nothing"


@dataclass(frozen=True, slots=True)
class RunFiles:
    """A run with what was read of it."""

    id: str
    run: Run | None
    metrics: Metrics | None

    @property
    def label(self) -> str:
        return (self.run and self.run.label) or self.id

    @property
    def steps(self) -> Steps:
        return self.metrics.steps if self.metrics else Steps()


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
class Drawn:
    runs: tuple[TrainedRun, ...]
    charted: Charted
    charts: tuple[Markup, ...]
    """One for each metric that is shown."""
    version: str
    """Another one when there is anything new to see."""


class Drawings:
    """Of the runs of a results directory. Safe to share between threads."""

    def __init__(self, links: Links) -> None:
        self._links = links
        self._drawn: Derived[tuple[str, ...], Drawn] = Derived(KEPT)

    def of(self, project: str, files: Sequence[RunFiles], find: str) -> Drawn:
        """All of them in a chart of each metric whose name has all words of ``find``."""
        asked = (project, find, *(each.id for each in files))
        sources = [source for each in files for source in (each.run, each.metrics)]
        return self._drawn.of(asked, sources, lambda: self._draw(project, files, find))

    def _draw(self, project: str, files: Sequence[RunFiles], find: str) -> Drawn:
        runs, steps = tuple(self._trained(project, each) for each in files), [each.steps for each in files]
        there = metrics(steps)
        chosen = [metric for metric in there if _is_named(metric, find)]
        charts = tuple(_charts(runs, steps, chosen[:MOST_CHARTS]))
        seen = repr([(run.label, run.progress) for run in runs]) + "".join(charts)
        charted = Charted(find, len(charts), len(chosen), len(there))
        return Drawn(runs, charted, charts, hashlib.sha256(seen.encode()).hexdigest()[:16])

    def _trained(self, project: str, files: RunFiles) -> TrainedRun:
        steps = files.steps
        return TrainedRun(
            id=files.id,
            label=files.label,
            description=files.run.description if files.run else None,
            address=self._links.run(project, files.id),
            csv=self._links.metrics(project, files.id),
            progress=progress(steps),
            columns={name: steps.column(name, max(0, len(steps) - TOLD_STEPS)) for name in steps.names()},
        )


def _is_named(metric: Metric, find: str) -> bool:
    name = f"{metric.name} {metric.label}".casefold()
    return all(word in name for word in find.casefold().split())


def _charts(runs: Sequence[TrainedRun], steps: Sequence[Steps], shown: Sequence[Metric]) -> Iterator[Markup]:
    names, courses = _names(runs), [Course.of(taken.column("step")) for taken in steps]
    links = [("CSV" if len(runs) == 1 else f"CSV of {name}", run.csv) for name, run in zip(names, runs, strict=True)]
    for metric in shown:
        series = [_series(*each, metric) for each in zip(names, courses, steps, strict=True)]
        yield line_chart(metric.label, series, x_label="step", band_label=BAND, marks_label=FLAT, links=links)


def _series(name: str, course: Course, steps: Steps, metric: Metric) -> Series:
    found = curve(steps, metric)
    return Series(name, course, found.values, found.spread, flat_steps(steps) if metric.spread else ())


def _names(runs: Sequence[TrainedRun]) -> list[str]:
    """Labels; with the id where two runs have the same."""
    labels = [run.label for run in runs]
    return [run.label if labels.count(run.label) == 1 else f"{run.label} ({run.id})" for run in runs]
