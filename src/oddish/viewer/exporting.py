"""Finished Harbor trials as a dataset of a results directory.

The reward of an attempt is the trial's primary one, valid or not under other policies; a trial without one is
unmeasured. Attempts of a cell are numbered by when they began.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from oddish.documents import is_file, read_object
from oddish.errors import Conflict, InvalidInput
from oddish.outcome import PASS
from oddish.pull.folder import Folder
from oddish.pull.names import MAX_NAME_BYTES, marked
from oddish.storable import storable
from oddish.viewer import atif
from oddish.viewer.projects import Project
from oddish.viewer.results import PROJECT, SUMMARY, TRACE_LIMIT, Results, dataset_path, id_flaw
from oddish.viewer.summaries import Attempt, Cell, Summary, Task
from oddish.viewer.taskfiles import TaskFiles
from oddish.viewer.traces import Trace
from oddish.viewer.trials import TrialResult, read_result
from oddish.viewer.writing import Writer

RESULT, TRAJECTORY, TRACES = "result.json", "agent/trajectory.json", "traces"
RESULT_LIMIT = 8 * 1024 * 1024
EXPORTED_BY, OURS = "exported_by", "oddish"
"""The member of summary.json that says that the dataset may be replaced."""

type CellKey = tuple[str, str, str]
"""Task, model, harness."""


@dataclass(frozen=True, slots=True)
class TrialDirectory:
    job: str
    directory: Path
    task: TaskFiles
    model: str | None = None
    """Where it is known, like ``harness``; else the record says it."""
    harness: str | None = None

    @property
    def name(self) -> str:
        return self.directory.name


@dataclass(frozen=True, slots=True)
class Exported:
    summary: Summary
    files_written: int
    files_removed: int
    left_out: tuple[tuple[str, str], ...]
    """Traces: of which trial, and why."""


@dataclass(frozen=True, slots=True)
class _Read:
    source: TrialDirectory
    result: TrialResult
    trace: str
    """Its path in the dataset."""


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
        self._left_out: list[tuple[str, str]] = []

    def run(self, trials: Sequence[TrialDirectory]) -> Exported:
        before = self._named_before()
        summary = self._summary(_by_cell(trials))
        if not is_file(self._folder.path, f"projects/{self._project}/{PROJECT}"):
            self._written += self._writer.project(self._project, Project(self._project, self._project))
        self._written += self._writer.summary(self._project, self._dataset, summary)
        return Exported(summary, self._written, self._remove(before - _named(summary)), tuple(self._left_out))

    def _named_before(self) -> set[str]:
        """Traces of the export that is there, if there is one. Raises ``Conflict`` for what is of somebody else."""
        path = f"{dataset_path(self._project, self._dataset)}/{SUMMARY}"
        there = Results(self._folder.path).summary(self._project, self._dataset).value
        if is_file(self._folder.path, path) and (there is None or there.extra.get(EXPORTED_BY) != OURS):
            raise Conflict(f"{path} was not written by an export.", fix="Name another dataset, or move this one away.")
        return set() if there is None else _named(there)

    def _summary(self, entries: Mapping[CellKey, Sequence[_Read]]) -> Summary:
        tasks: dict[str, Task] = {}
        for task, model, harness in sorted(entries):
            read = entries[task, model, harness]
            attempts = tuple(self._attempt(entry, number, task) for number, entry in enumerate(read, start=1))
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

    def _attempt(self, entry: _Read, number: int, task: str) -> Attempt:
        trace = _trace(entry, number, task)
        attempt = Attempt(number, trace.reward, trace.n_turns, trace.elapsed_sec, entry.trace)
        try:
            self._written += self._writer.trace(self._project, self._dataset, entry.trace, trace)
        except InvalidInput as error:
            self._left_out.append((entry.source.name, error.message))
            return attempt._replace(trace=None)
        return attempt

    def _remove(self, stale: Collection[str]) -> int:
        """Files that others put beside them stay."""
        place = (*dataset_path(self._project, self._dataset).split("/"), TRACES)
        gone = [name for name in self._folder.names(place) if f"{TRACES}/{name}" in stale]
        for name in gone:
            self._folder.remove((*place, name))
        return len(gone)


def _named(summary: Summary) -> set[str]:
    return {attempt.trace for cell in summary.cells for attempt in cell.attempts if attempt.trace is not None}


def _by_cell(trials: Iterable[TrialDirectory]) -> dict[CellKey, list[_Read]]:
    """The trials of each cell in the order of their attempts."""
    cells: defaultdict[CellKey, list[_Read]] = defaultdict(list)
    taken: set[str] = set()
    for trial in sorted(trials, key=lambda trial: (trial.job, trial.name)):
        document, _ = read_object(trial.directory, RESULT, RESULT_LIMIT)
        result = _as_known(trial, read_result(storable(document)))
        name = f"{trial.name}.json"
        if name in taken or id_flaw(trial.name) is not None or len(name.encode()) > MAX_NAME_BYTES:
            name = f"{marked('trial', f'{trial.job}/{trial.name}')}.json"
        taken.add(name)
        cells[trial.task.id, result.model, result.harness].append(_Read(trial, result, f"{TRACES}/{name}"))
    for entries in cells.values():
        entries.sort(key=lambda entry: entry.result.started_at)
    return dict(cells)


def _as_known(trial: TrialDirectory, result: TrialResult) -> TrialResult:
    return replace(result, model=trial.model or result.model, harness=trial.harness or result.harness)


def _trace(entry: _Read, number: int, task: str) -> Trace:
    result = entry.result
    places = [TRAJECTORY, *(f"steps/{step}/{TRAJECTORY}" for step in result.steps)]
    found = [read_object(entry.source.directory, place, TRACE_LIMIT)[0] for place in places]
    trajectories = [document for document in found if document]
    return Trace(
        task_id=task,
        model=result.model,
        harness=result.harness,
        attempt=number,
        reward=result.reward,
        n_turns=sum(map(atif.turns, trajectories)) if trajectories else None,
        elapsed_sec=result.elapsed_sec,
        messages=tuple(message for document in trajectories for message in atif.messages(document)),
        extra={"job": entry.source.job, "trial": entry.source.name, **result.extra},
    )
