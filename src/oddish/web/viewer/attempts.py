"""The attempts behind traces: which one a trace is of, what came of it, and the others at the same task."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from oddish.viewer.checking import compare_trace
from oddish.viewer.findings import Finding, Notes
from oddish.viewer.marks import State, state
from oddish.viewer.recorded import Recorded, recorded
from oddish.viewer.results import SUMMARY, dataset_path, trace_flaw
from oddish.viewer.summaries import Attempt, Cell, Summary, Task
from oddish.viewer.traces import Trace
from oddish.viewer.trials import NO_MODEL

METHODS = {
    "exact": "by comparing texts",
    "numeric": "by comparing numbers",
    "llm": "by a language model as judge",
}


@dataclass(frozen=True, slots=True)
class Found:
    """An attempt that names a trace."""

    task: Task
    cell: Cell
    attempt: Attempt


@dataclass(frozen=True, slots=True)
class Head:
    """What is known of an attempt, from its trace or from the summary."""

    trace: str
    """Path of the trace from the directory of the dataset."""
    task: str | None
    model: str | None
    harness: str | None
    attempt: int | None
    reward: float | None
    state: State
    reward_method: str | None
    method: str | None
    """The same in words, where it is a known one."""
    turns: int | None
    seconds: float | None
    gold: str | None
    predicted: str | None
    is_same: bool | None
    """Whether both are the same text; None where one of them is not there."""
    recorded: Recorded

    @property
    def label(self) -> str:
        number = f"attempt {self.attempt}" if self.attempt is not None else None
        return ", ".join(filter(None, (whose(self.model, self.harness), number))) or self.trace


def whose(model: str | None, harness: str | None) -> str:
    """Who made an attempt; of an agent without a model, the agent."""
    return " in ".join(filter(None, (None if model == NO_MODEL and harness else model, harness)))


def found(summary: Summary | None, trace: str) -> Found | None:
    """The first attempt that names the trace."""
    tasks = summary.tasks if summary else ()
    return next((Found(task, *named) for task in tasks for named in _named(task) if named[1].trace == trace), None)


def siblings(task: Task) -> Iterator[tuple[Cell, Attempt]]:
    """Every attempt at a task that names a trace which may be read."""
    return ((cell, attempt) for cell, attempt in _named(task) if attempt.trace and trace_flaw(attempt.trace) is None)


def neighbours(summary: Summary, at: Found) -> tuple[Found | None, Found | None]:
    """The same cell of the nearest tasks before and after that have a trace there, by the number of the attempt."""
    place = next(place for place, task in enumerate(summary.tasks) if task is at.task)
    before, after = reversed(summary.tasks[:place]), summary.tasks[place + 1 :]
    return next(_same_cell(before, at), None), next(_same_cell(after, at), None)


def head(path: str, trace: Trace, at: Found | None) -> Head:
    """What the trace says goes before what the summary says, but for the reward, of which there is one."""
    reward = at.attempt.reward if at else trace.reward
    gold = trace.gold if trace.gold is not None else (at.task.answer if at else None)
    return Head(
        trace=path,
        task=trace.task_id or (at.task.id if at else None),
        model=trace.model or (at.cell.model if at else None),
        harness=trace.harness or (at.cell.harness if at else None),
        attempt=at.attempt.attempt if at else trace.attempt,
        reward=reward,
        state=state(at.attempt if at else Attempt(1, reward)),
        reward_method=trace.reward_method,
        method=METHODS.get(trace.reward_method or ""),
        turns=trace.n_turns if trace.n_turns is not None else (at.attempt.n_turns if at else None),
        seconds=trace.elapsed_sec if trace.elapsed_sec is not None else (at.attempt.elapsed_sec if at else None),
        gold=gold,
        predicted=trace.predicted,
        is_same=None if gold is None or trace.predicted is None else gold.strip() == trace.predicted.strip(),
        recorded=recorded(trace.extra),
    )


def contradictions(project: str, dataset: str, trace: Trace, at: Found) -> tuple[Finding, ...]:
    """Where a trace and the summary do not say the same."""
    notes = Notes()
    compare_trace(f"attempt {at.attempt.attempt}", trace, at.task, at.cell, at.attempt, notes)
    place = f"{dataset_path(project, dataset)}/{SUMMARY}"
    return tuple(finding.below(place) for finding in notes.findings)


def _same_cell(tasks: Iterable[Task], at: Found) -> Iterator[Found]:
    """One attempt at each task that has any in that cell: of the same number, or else the first."""
    for task in tasks:
        there = [Found(task, cell, attempt) for cell, attempt in siblings(task) if cell.key == at.cell.key]
        same = (found for found in there if found.attempt.attempt == at.attempt.attempt)
        if there:
            yield next(same, there[0])


def _named(task: Task) -> Iterator[tuple[Cell, Attempt]]:
    return ((cell, attempt) for cell in task.cells for attempt in cell.attempts)
