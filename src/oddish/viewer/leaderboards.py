"""How columns did on a set of tasks: rates with intervals and what they are rates of. Pure.

``pass@k`` is the share of the measured cells that passed within ``k`` attempts. Tasks are what is sampled: where a
column has one cell of each, Wilson's interval holds for its cells; of several, those of one task are not independent.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from oddish.outcome import measured_group
from oddish.stats import Attempts, Estimate, Interval, clustered_interval, mean_of_tasks, wilson
from oddish.viewer.columns import Column, Pivot, key_of
from oddish.viewer.tables import Entry, Row, Table, total

type Method = Literal["wilson", "clustered", "wilson over tasks"]
"""``clustered``: by task, where a column has several cells of one. It has no width where all cells did the same, and
tasks are counted instead: ``wilson over tasks``."""


@dataclass(frozen=True, slots=True)
class Rate:
    """pass@k."""

    k: int
    share: float | None
    """None without a measured cell."""
    passed: int
    """Measured cells that passed within ``k`` attempts."""
    interval: Interval | None = None
    method: Method | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """One column. What is not measured is in no rate and no mean, and in the counts beside it."""

    column: Column
    rates: tuple[Rate, ...]
    """At 1 and at ``k_max``, or at 1 alone where that is the same."""
    cells: int
    measured_cells: int
    tasks: int
    """Of the set, whether or not the column has a cell of them."""
    measured_tasks: int
    attempts: int
    measured_attempts: int
    mean_turns: float | None
    mean_seconds: float | None
    mean_reward: Estimate | None
    """The mean of the tasks' means, where some reward is neither 0 nor 1."""


def standings(table: Table, rows: Sequence[Row], pivot: Pivot) -> dict[str, Standing]:
    """Of these rows of the table, by key, in the order of the columns."""
    along: dict[str, dict[int, list[Entry]]] = {column.key: {} for column in table.columns(pivot)}
    for row in rows:
        for entry in row.entries:
            along[key_of(pivot, entry.cell)].setdefault(row.position, []).append(entry)
    return {column.key: _standing(table, column, along[column.key], len(rows)) for column in table.columns(pivot)}


def ranked(found: Iterable[Standing]) -> tuple[Standing, ...]:
    """The best first, by the rate at 1, then at ``k_max``; those without a measured cell last."""
    return tuple(
        sorted(found, key=lambda standing: [(rate.share is None, -(rate.share or 0)) for rate in standing.rates])
    )


def _standing(table: Table, column: Column, by_task: dict[int, list[Entry]], tasks: int) -> Standing:
    entries = [entry for of_task in by_task.values() for entry in of_task]
    measured = {
        position: found
        for position, of_task in by_task.items()
        if (found := [entry for entry in of_task if entry.counts.measured])
    }
    group = measured_group((entry.counts for entry in entries), (ks := sorted({1, table.summary.k_max})))
    return Standing(
        column=column,
        rates=tuple(_rate(k, group.pass_at[k], list(measured.values())) for k in ks),
        cells=group.cells,
        measured_cells=group.n_measured,
        tasks=tasks,
        measured_tasks=len(measured),
        attempts=sum(entry.counts.attempts for entry in entries),
        measured_attempts=sum(entry.counts.measured for entry in entries),
        mean_turns=total(entry.turns for entry in entries).mean,
        mean_seconds=total(entry.seconds for entry in entries).mean,
        mean_reward=mean_of_tasks(map(rewards, by_task.values())) if table.is_graded else None,
    )


def rewards(entries: Iterable[Entry]) -> list[float]:
    """Those that the attempts of cells list."""
    return [attempt.reward for entry in entries for attempt in entry.cell.attempts if attempt.reward is not None]


def passes(entries: Iterable[Entry], k: int) -> list[float]:
    """1 or 0 for each measured cell: whether it passed within ``k`` attempts."""
    return [float(passed) for entry in entries if (passed := entry.counts.passes_within(k)) is not None]


def _rate(k: int, share: float | None, by_task: Sequence[Sequence[Entry]]) -> Rate:
    found = [passes(entries, k) for entries in by_task]
    cells = sum(map(len, found))
    passed = round(sum(map(sum, found)))
    if not cells:
        return Rate(k, share, passed)
    if cells == len(found):
        return Rate(k, share, passed, wilson(Attempts(cells, passed)), "wilson")
    if passed in (0, cells):
        return Rate(k, share, passed, wilson(Attempts(len(found), len(found) if passed else 0)), "wilson over tasks")
    interval = clustered_interval(found)
    within = Interval(max(interval.low, 0.0), min(interval.high, 1.0)) if interval is not None else None
    return Rate(k, share, passed, within, "clustered" if within is not None else None)
