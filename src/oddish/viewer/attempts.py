"""Directories of finished Harbor trials as the attempts of a dataset's cells, and each as a trace."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from oddish.documents import read_object
from oddish.pull.names import MAX_NAME_BYTES, marked
from oddish.storable import storable
from oddish.viewer import atif
from oddish.viewer.policies import Counted, Entry, counted
from oddish.viewer.results import TRACE_LIMIT, id_flaw
from oddish.viewer.taskfiles import TaskFiles
from oddish.viewer.traces import Trace
from oddish.viewer.trials import TrialResult, read_result

RESULT, TRAJECTORY, TRACES = "result.json", "agent/trajectory.json", "traces"
RESULT_LIMIT = 8 * 1024 * 1024

type CellKey = tuple[str, str, str]
"""Task, model, harness."""


@dataclass(frozen=True, slots=True)
class TrialDirectory:
    job: str
    directory: Path
    task: TaskFiles
    model: str | None = None
    """Where it is known, like ``harness`` and ``status``; else the record says it."""
    harness: str | None = None
    status: Counted | None = None
    place: int = 0
    """By which ``oddish status`` orders the trials of a cell."""

    @property
    def name(self) -> str:
        return self.directory.name


@dataclass(frozen=True, slots=True)
class Read:
    """A trial and its record."""

    source: TrialDirectory
    result: TrialResult
    trace: str
    """Its path in the dataset."""

    def entry(self, key: CellKey, number: int) -> Entry:
        """The attempt with this number, beside what the trial counts for in ``oddish status``."""
        status = self.source.status or counted(self.result.facts)
        return Entry(self.source.name, *key, status, number, self.result.reward, self.source.place)


def by_cell(trials: Iterable[TrialDirectory]) -> dict[CellKey, list[Read]]:
    """The trials of each cell in the order of their attempts."""
    cells: defaultdict[CellKey, list[Read]] = defaultdict(list)
    taken: set[str] = set()
    for trial in sorted(trials, key=lambda trial: (trial.job, trial.name)):
        document, _ = read_object(trial.directory, RESULT, RESULT_LIMIT)
        result = _as_known(trial, read_result(storable(document)))
        name = f"{trial.name}.json"
        if name in taken or id_flaw(trial.name) is not None or len(name.encode()) > MAX_NAME_BYTES:
            name = f"{marked('trial', f'{trial.job}/{trial.name}')}.json"
        taken.add(name)
        cells[trial.task.id, result.model, result.harness].append(Read(trial, result, f"{TRACES}/{name}"))
    for reads in cells.values():
        reads.sort(key=lambda read: read.result.started_at)
    return dict(cells)


def _as_known(trial: TrialDirectory, result: TrialResult) -> TrialResult:
    return replace(result, model=trial.model or result.model, harness=trial.harness or result.harness)


def trace_of(read: Read, number: int, task: str) -> tuple[Trace, list[str]]:
    """The trace of the attempt with this number, and which trajectories could not be taken into it."""
    result = read.result
    places = [TRAJECTORY, *(f"steps/{step}/{TRAJECTORY}" for step in result.steps)]
    found = {place: read_object(read.source.directory, place, TRACE_LIMIT) for place in places}
    trajectories = [document for document, _ in found.values() if document]
    trace = Trace(
        task_id=task,
        model=result.model,
        harness=result.harness,
        attempt=number,
        reward=result.reward,
        n_turns=sum(map(atif.turns, trajectories)) if trajectories else None,
        elapsed_sec=result.elapsed_sec,
        messages=tuple(message for document in trajectories for message in atif.messages(document)),
        extra={"job": read.source.job, "trial": read.source.name, **result.extra},
    )
    return trace, [
        f"{place} is {problem.replace('_', ' ')}, so its messages are not in the trace"
        for place, (_, problem) in found.items()
        if problem not in (None, "missing")
    ]
