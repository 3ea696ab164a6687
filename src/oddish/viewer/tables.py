"""The tasks of a dataset as rows, with what they are chosen, sorted and rated by worked out once. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from oddish.outcome import PASS, MeasuredCell, MeasuredSummary, measured_summary
from oddish.viewer.aggregates import measured
from oddish.viewer.columns import Column, Pivot, columns
from oddish.viewer.summaries import Cell, Summary, Task


@dataclass(frozen=True, slots=True)
class Total:
    """A sum of numbers that are known, and how many those are."""

    sum: float
    count: int

    @property
    def mean(self) -> float | None:
        return self.sum / self.count if self.count else None


@dataclass(frozen=True, slots=True)
class Entry:
    """A cell, and what its attempts come to."""

    cell: Cell
    counts: MeasuredCell
    turns: Total
    """Of attempts with a reward, like ``seconds``."""
    seconds: Total


@dataclass(frozen=True, slots=True)
class Row:
    """A task. Cells pass here when any of their attempts did, as far as there are any."""

    position: int
    """In the file, from 0. Ids may be there twice."""
    task: Task
    entries: tuple[Entry, ...]
    attempts: int
    measured: int
    """Cells with a measured attempt."""
    passed: int
    """Those of them that passed."""
    turns: float | None
    """Mean of an attempt, like ``seconds``."""
    seconds: float | None

    @property
    def is_all_infra(self) -> bool:
        """It was attempted, and nothing was measured."""
        return self.attempts > 0 and not self.measured

    @property
    def has_infra(self) -> bool:
        """Some attempt has no reward."""
        return any(attempt.reward is None for entry in self.entries for attempt in entry.cell.attempts)

    @property
    def disagreement(self) -> float | None:
        """The share of the measured cells that differ from most: 0 where all did the same, at most 0.5."""
        return min(self.passed, self.measured - self.passed) / self.measured if self.measured else None


class Table:
    """All rows of a dataset, in the order of its file."""

    def __init__(self, summary: Summary) -> None:
        self.summary = summary
        self.rows = tuple(_row(position, task) for position, task in enumerate(summary.tasks))
        self._columns: dict[Pivot, tuple[Column, ...]] = {}

    def columns(self, pivot: Pivot) -> tuple[Column, ...]:
        if pivot not in self._columns:
            self._columns[pivot] = columns(pivot, self.summary)
        return self._columns[pivot]

    @cached_property
    def counts(self) -> MeasuredSummary:
        return measured_summary({str(row.position): [entry.counts for entry in row.entries] for row in self.rows})

    @cached_property
    def difficulties(self) -> tuple[str | None, ...]:
        """Those there are, by level where tasks tell it, then by name; None if some task tells none."""
        levels: dict[str | None, float] = {}
        for task in self.summary.tasks:
            level = float("inf") if task.difficulty_level is None else task.difficulty_level
            levels[task.difficulty] = min(level, levels.get(task.difficulty, level))
        return tuple(sorted(levels, key=lambda name: (name is None, levels[name], name or "")))

    @cached_property
    def reward_modes(self) -> tuple[str | None, ...]:
        """By name; None if some task tells none."""
        found = {task.reward_mode for task in self.summary.tasks}
        return tuple(sorted(found, key=lambda name: (name is None, name or "")))

    @cached_property
    def is_graded(self) -> bool:
        """Some reward is neither 0 nor 1."""
        return any(attempt.reward not in (None, 0, PASS) for cell in self.summary.cells for attempt in cell.attempts)


def total(totals: Iterable[Total]) -> Total:
    listed = list(totals)
    return Total(sum(each.sum for each in listed), sum(each.count for each in listed))


def _row(position: int, task: Task) -> Row:
    entries = tuple(map(_entry, task.cells))
    found = [entry.counts for entry in entries if entry.counts.measured]
    return Row(
        position=position,
        task=task,
        entries=entries,
        attempts=sum(entry.counts.attempts for entry in entries),
        measured=len(found),
        passed=sum(counts.passed_at is not None for counts in found),
        turns=total(entry.turns for entry in entries).mean,
        seconds=total(entry.seconds for entry in entries).mean,
    )


def _entry(cell: Cell) -> Entry:
    known = [attempt for attempt in cell.attempts if attempt.reward is not None]
    turns = [attempt.n_turns for attempt in known if attempt.n_turns is not None]
    seconds = [attempt.elapsed_sec for attempt in known if attempt.elapsed_sec is not None]
    return Entry(cell, measured(cell), Total(sum(turns), len(turns)), Total(sum(seconds), len(seconds)))
