"""Is a results directory as its contract says? Everything in it is read once."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oddish.viewer.aggregates import compare, counts, overall
from oddish.viewer.fields import shown
from oddish.viewer.findings import Finding, Notes
from oddish.viewer.results import SUMMARY, Results, dataset_path
from oddish.viewer.summaries import Attempt, Cell, Summary, Task
from oddish.viewer.traces import Trace


@dataclass(frozen=True, slots=True)
class DatasetReport:
    """Counts by the tasks. ``pass_at``: k -> share of the measured cells, None where there is none."""

    id: str
    tasks: int
    cells: int
    measured_cells: int
    attempts: int
    traces: int
    """Those that can be read."""
    n_all_infra: int
    pass_at: dict[int, float | None]


@dataclass(frozen=True, slots=True)
class RunReport:
    id: str
    steps: int


@dataclass(frozen=True, slots=True)
class ProjectReport:
    id: str
    label: str | None
    datasets: tuple[DatasetReport, ...]
    runs: tuple[RunReport, ...]


@dataclass(frozen=True, slots=True)
class Report:
    projects: tuple[ProjectReport, ...]
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        return all(finding.level != "error" for finding in self.findings)


def check(directory: Path) -> Report:
    """Read the whole directory, traces and metrics included."""
    return _Check(directory).report()


class _Check:
    def __init__(self, directory: Path) -> None:
        self._results = Results(directory)
        self._findings: list[Finding] = []

    def report(self) -> Report:
        listing = self._results.projects()
        self._findings += listing.findings
        projects = tuple(map(self._project, listing.ids))
        if not projects:
            self._findings.append(
                Finding("error", "projects", "holds no project.", "Name the directory above projects/.")
            )
        return Report(projects, tuple(self._findings))

    def _project(self, project: str) -> ProjectReport:
        reading = self._results.project(project)
        self._findings += reading.findings
        found = reading.value
        if found is not None and found.project_id != project:
            place = f"projects/{project}/project.json: project_id"
            said = f"is {shown(found.project_id)}; the directory is called {shown(project)}."
            self._findings.append(Finding("warning", place, said))
        datasets, runs = self._results.datasets(project), self._results.runs(project)
        self._findings += datasets.findings + runs.findings
        return ProjectReport(
            project,
            found.label if found else None,
            tuple(report for dataset in datasets.ids if (report := self._dataset(project, dataset)) is not None),
            tuple(self._run(project, run) for run in runs.ids),
        )

    def _dataset(self, project: str, dataset: str) -> DatasetReport | None:
        self._findings += self._results.dataset(project, dataset).findings
        reading = self._results.summary(project, dataset)
        self._findings += reading.findings
        summary = reading.value
        if summary is None:
            return None
        notes = Notes()
        compare(summary, notes)
        traces = self._traces(project, dataset, summary, notes)
        place = f"{dataset_path(project, dataset)}/{SUMMARY}"
        self._findings += [finding.below(place) for finding in notes.findings]
        found, rates = counts(summary), overall(summary).group
        return DatasetReport(
            id=dataset,
            tasks=found.tasks_total,
            cells=rates.cells,
            measured_cells=rates.n_measured,
            attempts=found.attempts_total,
            traces=traces,
            n_all_infra=found.n_all_infra,
            pass_at=dict(rates.pass_at),
        )

    def _traces(self, project: str, dataset: str, summary: Summary, notes: Notes) -> int:
        """How many of the named traces can be read."""
        readable = 0
        for task, cell, attempt, path in _named_traces(summary):
            reading = self._results.trace(project, dataset, path)
            place = f"tasks[{shown(task.id)}].cells[{shown(cell.key)}]"
            for finding in reading.findings:
                note = notes.error if finding.level == "error" else notes.warning
                note(f"{place}, attempt {attempt.attempt}", f"{path} {finding.found}", finding.fix)
            if reading.value is not None:
                readable += 1
                compare_trace(f"{place}, attempt {attempt.attempt}", reading.value, task, cell, attempt, notes)
        return readable

    def _run(self, project: str, run: str) -> RunReport:
        self._findings += self._results.run(project, run).findings
        metrics = self._results.metrics(project, run)
        self._findings += metrics.findings
        return RunReport(run, len(metrics.value.steps) if metrics.value else 0)


def _named_traces(summary: Summary) -> Iterator[tuple[Task, Cell, Attempt, str]]:
    return (
        (task, cell, attempt, attempt.trace)
        for task in summary.tasks
        for cell in task.cells
        for attempt in cell.attempts
        if attempt.trace is not None
    )


def compare_trace(place: str, trace: Trace, task: Task, cell: Cell, attempt: Attempt, notes: Notes) -> None:
    """A trace need not say whose it is; what it says should be the same."""
    for name, said, expected in (
        ("task_id", trace.task_id, task.id),
        ("model", trace.model, cell.model),
        ("harness", trace.harness, cell.harness),
        ("attempt", trace.attempt, attempt.attempt),
    ):
        if said is not None and said != expected:
            notes.warning(place, f"{attempt.trace} has the {name} {shown(said)}.")
    if trace.reward != attempt.reward:
        notes.warning(
            place, f"{attempt.trace} has the reward {shown(trace.reward)}, the attempt {shown(attempt.reward)}."
        )
