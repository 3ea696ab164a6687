"""The tasks of a dataset as rows of its page."""

from collections.abc import Sequence
from dataclasses import dataclass

from oddish.viewer.columns import Column, Pivot, key_of
from oddish.viewer.filters import View
from oddish.viewer.marks import Mark, marks
from oddish.viewer.results import trace_flaw
from oddish.viewer.tables import Entry, Row
from oddish.web.viewer.links import Links

MOST_MARKS = 10_000
"""Of one page; of each cell at least one."""
SHORT, LONG = 140, 8_000
"""Characters of a text at first sight, and at all."""


@dataclass(frozen=True, slots=True)
class Text:
    begin: str
    rest: str
    """What follows, hidden at first."""
    left_out: int
    """Characters after that."""


@dataclass(frozen=True, slots=True)
class MarkModel:
    attempt: int
    state: str
    reward: float | None
    address: str | None
    """Of its trace."""
    title: str


@dataclass(frozen=True, slots=True)
class CellModel:
    key: str
    label: str | None
    """What tells it from the others of its column; None where it is alone there."""
    passed_at: int | None
    attempts: int
    measured: int
    passed: int
    marks: tuple[MarkModel, ...]
    marks_left_out: int


@dataclass(frozen=True, slots=True)
class TaskModel:
    id: str
    index: int | None
    difficulty: str | None
    difficulty_level: float | None
    reward_mode: str | None
    question: Text | None
    """None where it is not to be shown, like ``answer``."""
    answer: Text | None
    cells: int
    measured_cells: int
    passed_cells: int
    disagreement: float | None
    mean_turns: float | None
    mean_seconds: float | None
    is_all_infra: bool
    columns: tuple[tuple[CellModel, ...], ...]
    """Like the page's columns; none where the task has no such cell."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the cells of a page are."""

    links: Links
    project: str
    dataset: str
    pivot: Pivot
    k_max: int
    most: int


def task_models(
    links: Links, place: tuple[str, str], view: View, columns: Sequence[Column], rows: Sequence[Row], k_max: int
) -> tuple[TaskModel, ...]:
    """``place`` is the project and the dataset."""
    keys = {column.key for column in columns}
    cells = sum(key_of(view.pivot, entry.cell) in keys for row in rows for entry in row.entries)
    where = _Place(links, *place, view.pivot, k_max, max(1, MOST_MARKS // max(cells, 1)))
    return tuple(_task(where, view, columns, row) for row in rows)


def _task(where: _Place, view: View, columns: Sequence[Column], row: Row) -> TaskModel:
    by_column: dict[str, list[CellModel]] = {column.key: [] for column in columns}
    for entry in row.entries:
        if (found := by_column.get(key_of(where.pivot, entry.cell))) is not None:
            found.append(_cell(where, entry))
    task = row.task
    return TaskModel(
        id=task.id,
        index=task.index,
        difficulty=task.difficulty,
        difficulty_level=task.difficulty_level,
        reward_mode=task.reward_mode,
        question=_text(task.question) if view.show != "nothing" else None,
        answer=_text(task.answer) if view.show == "answer" else None,
        cells=len(row.entries),
        measured_cells=row.measured,
        passed_cells=row.passed,
        disagreement=row.disagreement,
        mean_turns=row.turns,
        mean_seconds=row.seconds,
        is_all_infra=row.is_all_infra,
        columns=tuple(map(tuple, by_column.values())),
    )


def _cell(where: _Place, entry: Entry) -> CellModel:
    cell, counts = entry.cell, entry.counts
    found = marks(cell, where.k_max, most=where.most)
    label = {"both": None, "model": cell.harness, "harness": cell.model}[where.pivot]
    return CellModel(
        key=cell.key,
        label=label,
        passed_at=cell.passed_at,
        attempts=counts.attempts,
        measured=counts.measured,
        passed=counts.passed,
        marks=tuple(_mark(where, mark) for mark in found.shown),
        marks_left_out=found.left_out,
    )


def _mark(where: _Place, mark: Mark) -> MarkModel:
    title = f"{mark.attempt}: {_said(mark)}"
    if mark.trace is None:
        return MarkModel(mark.attempt, mark.state, mark.reward, None, title)
    if trace_flaw(mark.trace) is not None:
        return MarkModel(mark.attempt, mark.state, mark.reward, None, f"{title}; what it names as its trace is refused")
    address = where.links.trace(where.project, where.dataset, mark.trace)
    return MarkModel(mark.attempt, mark.state, mark.reward, address, title)


def _said(mark: Mark) -> str:
    if mark.state == "fail" and mark.reward:
        return f"reward {mark.reward:g}"
    return {
        "pass": "passed",
        "fail": "failed",
        "unmeasured": "not measured",
        "running": "running",
        "unlisted": "not listed",
    }[mark.state]


def _text(text: str | None) -> Text | None:
    if text is None:
        return None
    cut = text[:SHORT].rfind(" ") if len(text) > SHORT else len(text)
    cut = cut if cut > SHORT // 2 else min(SHORT, len(text))
    return Text(text[:cut], text[cut:LONG], max(0, len(text) - LONG))
