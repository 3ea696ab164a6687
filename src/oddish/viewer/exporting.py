"""Finished Harbor trials as a dataset of a results directory.

The reward of an attempt is the trial's primary one, valid or not under other policies; a trial without one is
unmeasured. Attempts of a cell are numbered by when they began.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from oddish.documents import is_file
from oddish.errors import Conflict, InvalidInput
from oddish.outcome import PASS
from oddish.pull.folder import Folder
from oddish.viewer.attempts import TRACES, CellKey, Read, TrialDirectory, by_cell, trace_of
from oddish.viewer.policies import Entry
from oddish.viewer.projects import Project
from oddish.viewer.results import PROJECT, SUMMARY, TRACE_LIMIT, Results, dataset_path
from oddish.viewer.summaries import Attempt, Cell, Summary, Task
from oddish.viewer.tracefiles import HEAD_LIMIT, TraceFiles
from oddish.viewer.writing import Writer

EXPORTED_BY, OURS = "exported_by", "oddish"
"""The member of summary.json that says that the dataset may be replaced."""


@dataclass(frozen=True, slots=True)
class Exported:
    summary: Summary
    entries: tuple[Entry, ...]
    """Each attempt, beside what its trial counts for in ``oddish status``."""
    files_written: int
    files_removed: int
    flawed: tuple[tuple[str, str], ...]
    """Trials whose traces are not there or not shown as a whole, and why."""


def export(trials: Sequence[TrialDirectory], folder: Folder, project: str, dataset: str) -> Exported:
    """Make the dataset hold these trials and no others; files that are there already are not written again.

    Raises ``Conflict`` for a dataset that somebody else made, ``InvalidInput`` for an id that is none.
    """
    return _Export(folder, project, dataset).run(trials)


class _Export:
    """Traces come first and the summary that names them after them; what it does not name any more goes last."""

    def __init__(self, folder: Folder, project: str, dataset: str) -> None:
        self._folder = folder
        self._writer = Writer(folder)
        self._project = project
        self._dataset = dataset
        self._written = 0
        self._flawed: list[tuple[str, str]] = []

    def run(self, trials: Sequence[TrialDirectory]) -> Exported:
        before = self._named_before()
        cells = by_cell(trials)
        summary = self._summary(cells)
        if not is_file(self._folder.path, f"projects/{self._project}/{PROJECT}"):
            self._written += self._writer.project(self._project, Project(self._project, self._project))
        self._written += self._writer.summary(self._project, self._dataset, summary)
        removed = self._remove(before - _named(summary))
        return Exported(summary, tuple(_entries(cells)), self._written, removed, tuple(self._flawed))

    def _named_before(self) -> set[str]:
        """Traces of the export that is there, if there is one. Raises ``Conflict`` for what is of somebody else."""
        path = f"{dataset_path(self._project, self._dataset)}/{SUMMARY}"
        there = Results(self._folder.path).summary(self._project, self._dataset).value
        if is_file(self._folder.path, path) and (there is None or there.extra.get(EXPORTED_BY) != OURS):
            raise Conflict(f"{path} was not written by an export.", fix="Name another dataset, or move this one away.")
        return set() if there is None else _named(there)

    def _summary(self, entries: Mapping[CellKey, Sequence[Read]]) -> Summary:
        tasks: dict[str, Task] = {}
        for task, model, harness in sorted(entries):
            read = entries[task, model, harness]
            attempts = tuple(self._attempt(each, number, task) for number, each in enumerate(read, start=1))
            passed = next((attempt.attempt for attempt in attempts if attempt.reward == PASS), None)
            row = tasks.get(task) or read[-1].source.task.task()
            tasks[task] = replace(row, cells=(*row.cells, Cell(model, harness, passed, attempts)))
        return Summary(
            k_max=max(map(len, entries.values()), default=1),
            models=tuple(sorted({model for _, model, _ in entries})),
            harnesses=tuple(sorted({harness for _, _, harness in entries})),
            tasks=tuple(tasks.values()),
            extra={EXPORTED_BY: OURS},
        )

    def _attempt(self, read: Read, number: int, task: str) -> Attempt:
        trace, problems = trace_of(read, number, task)
        attempt = Attempt(number, trace.reward, trace.n_turns, trace.elapsed_sec, read.trace)
        try:
            self._written += self._writer.trace(self._project, self._dataset, read.trace, trace)
            problems += self._unseen(read.trace)
        except InvalidInput as error:
            problems.append(f"its trace is left out: {error.message}")
            attempt = attempt._replace(trace=None)
        self._flawed += [(read.source.name, problem) for problem in problems]
        return attempt

    def _unseen(self, trace: str) -> list[str]:
        """What of a trace that was written is only in its file, for pages do not show so much."""
        path = f"{dataset_path(self._project, self._dataset)}/{trace}"
        if self._folder.path.joinpath(path).stat().st_size <= HEAD_LIMIT:
            return []
        with TraceFiles(self._folder.path).open(path, TRACE_LIMIT) as reading:
            found = [*reading.findings, *(reading.value.unseen() if reading.value else ())]
        return [f"on the page of its trace {finding.place.rpartition(': ')[2]} {finding.found}" for finding in found]

    def _remove(self, stale: Collection[str]) -> int:
        """Files that others put beside them stay."""
        place = (*dataset_path(self._project, self._dataset).split("/"), TRACES)
        gone = [name for name in self._folder.names(place) if f"{TRACES}/{name}" in stale]
        for name in gone:
            self._folder.remove((*place, name))
        return len(gone)


def _named(summary: Summary) -> set[str]:
    return {attempt.trace for cell in summary.cells for attempt in cell.attempts if attempt.trace is not None}


def _entries(cells: Mapping[CellKey, Sequence[Read]]) -> Iterator[Entry]:
    return (read.entry(key, number) for key, reads in cells.items() for number, read in enumerate(reads, start=1))
