"""The orders in which the tasks of a dataset can be seen. Pure."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from oddish.viewer.tables import Row

type Key = Callable[[Row], Any]


def _difficulty(row: Row) -> tuple[float, str] | None:
    """By level where the task tells it, then by name."""
    task = row.task
    if task.difficulty_level is None and task.difficulty is None:
        return None
    return (float("inf") if task.difficulty_level is None else task.difficulty_level, task.difficulty or "")


SORTS: Mapping[str, Key] = {
    "index": lambda row: row.task.index,
    "id": lambda row: row.task.id,
    "difficulty": _difficulty,
    "passes": lambda row: row.passed / row.measured if row.measured else None,
    "disagreement": lambda row: row.disagreement,
    "turns": lambda row: row.turns,
    "time": lambda row: row.seconds,
}
"""By name; None for a task of which it cannot be told."""


def orders(rows: Iterable[Row]) -> frozenset[str]:
    """Those that can be told of some task."""
    listed = tuple(rows)
    return frozenset(name for name, key in SORTS.items() if any(key(row) is not None for row in listed))


def in_order(rows: Iterable[Row], sort: str, *, descending: bool) -> list[Row]:
    """Equal ones by index and in the order of the file. Those of which the key cannot be told are last either way."""
    key = SORTS[sort]
    listed = sorted(rows, key=lambda row: (row.task.index is None, row.task.index or 0))
    known = [row for row in listed if key(row) is not None]
    known.sort(key=key, reverse=descending)
    return [*known, *(row for row in listed if key(row) is None)]
