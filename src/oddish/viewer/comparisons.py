"""Two columns on the same tasks: by how much they differ, whether that can be told, and on which tasks. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

from oddish.stats import Paired, detectable_difference, paired_difference
from oddish.viewer.columns import Column, Pivot, key_of
from oddish.viewer.leaderboards import passes, rewards
from oddish.viewer.tables import Entry, Row, Table

type Verdict = Literal["first", "second", "open"]


@dataclass(frozen=True, slots=True)
class Contest:
    """The columns by one measure, on the tasks of which both have measured something."""

    measure: str
    """``pass@`` and the number of attempts, or ``reward``."""
    paired: Paired
    detectable: float | None
    """The difference that so many tasks, which differ so much, show in four of five cases; None for too few tasks."""

    @property
    def verdict(self) -> Verdict:
        """Which is the better one; ``open`` while the interval holds 0."""
        interval = self.paired.difference.interval
        if interval is None or interval.low <= 0 <= interval.high:
            return "open"
        return "first" if interval.low > 0 else "second"


@dataclass(frozen=True, slots=True)
class Comparison:
    first: Column
    second: Column
    k: int
    contests: tuple[Contest, ...]
    """At 1 and at ``k`` attempts; of rewards too, where some are neither 0 nor 1."""
    won: tuple[Row, ...]
    """The tasks of which more of the first column's cells passed within ``k`` attempts, in the order of the file."""
    lost: tuple[Row, ...]
    """Those of the second column's."""


def compare_columns(table: Table, pivot: Pivot, first: Column, second: Column) -> Comparison:
    k = table.summary.k_max
    ours, theirs = (_by_task(table, pivot, column) for column in (first, second))

    def contest(measure: str, values: Callable[[list[Entry]], list[float]]) -> Contest:
        paired = paired_difference(_each(ours, values), _each(theirs, values))
        return Contest(measure, paired, detectable_difference(paired.difference))

    measures: dict[str, Callable[[list[Entry]], list[float]]] = {
        f"pass@{number}": partial(passes, k=number) for number in sorted({1, k})
    }
    if table.is_graded:
        measures["reward"] = rewards
    ahead = {row.position: _lead(ours[row.position], theirs[row.position], k) for row in table.rows}
    return Comparison(
        first=first,
        second=second,
        k=k,
        contests=tuple(contest(name, values) for name, values in measures.items()),
        won=tuple(row for row in table.rows if ahead[row.position] > 0),
        lost=tuple(row for row in table.rows if ahead[row.position] < 0),
    )


def _by_task(table: Table, pivot: Pivot, column: Column) -> dict[int, list[Entry]]:
    return {
        row.position: [entry for entry in row.entries if key_of(pivot, entry.cell) == column.key] for row in table.rows
    }


def _each(by_task: Mapping[int, list[Entry]], values: Callable[[list[Entry]], list[float]]) -> dict[str, list[float]]:
    return {str(position): values(entries) for position, entries in by_task.items()}


def _lead(ours: list[Entry], theirs: list[Entry], k: int) -> float:
    """Of the shares of cells that passed; 0 where one of the two has measured nothing."""
    mine, others = passes(ours, k), passes(theirs, k)
    return sum(mine) * len(others) - sum(others) * len(mine)
