"""What the cells of a dataset come to, and where a file says something else. Pure.

``pass@j`` is the share of cells whose ``passed_at`` is at most j, among the cells with a measured attempt. The attempts
only decide whether a cell was measured, for a file need not list them all.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from oddish.documents import finite_number
from oddish.outcome import (
    PASS,
    MeasuredCell,
    MeasuredGroup,
    MeasuredSummary,
    measured_group,
    measured_summary,
)
from oddish.viewer.fields import shown
from oddish.viewer.findings import Notes
from oddish.viewer.summaries import Axis, Cell, Summary

AXES: tuple[Axis, ...] = ("model", "harness")
_PASS_AT = re.compile(r"pass@([1-9][0-9]{0,5})")
_SHARE_DECIMALS, _MEAN_DECIMALS = 2, 1


@dataclass(frozen=True, slots=True)
class Aggregate:
    """The cells of one model, of one harness, or all of them."""

    group: MeasuredGroup
    """With the rates at 1 and at ``k_max`` attempts."""
    mean_turns: float | None
    """Of measured attempts that tell their turns."""


def measured(cell: Cell) -> MeasuredCell:
    """Of attempts that are not listed, the one that passed and those before it are known to have been made."""
    rewards = [attempt.reward for attempt in cell.attempts]
    unlisted = cell.passed_at is not None and cell.passed_at not in [attempt.attempt for attempt in cell.attempts]
    return MeasuredCell(
        attempts=max(len(rewards), cell.passed_at or 0),
        measured=len(rewards) - rewards.count(None) + unlisted,
        passed=rewards.count(PASS) + unlisted,
        passed_at=cell.passed_at,
    )


def overall(summary: Summary) -> Aggregate:
    return _aggregate(summary.cells, {1, summary.k_max})


def by(axis: Axis, summary: Summary) -> dict[str, Aggregate]:
    """By model or harness, in the order of the columns."""
    return {name: _aggregate(cells, {1, summary.k_max}) for name, cells in _along(axis, summary).items()}


def counts(summary: Summary) -> MeasuredSummary:
    """Of attempts that are not listed, those that ``measured`` knows of are counted."""
    tasks = {str(position): [*map(measured, task.cells)] for position, task in enumerate(summary.tasks)}
    return measured_summary(tasks)


def summary_document(summary: Summary, tasks: list[dict[str, Any]]) -> dict[str, Any]:
    """``summary.json`` with its ``tasks`` as they are written, and numbers that follow from them."""
    return {
        "k_max": summary.k_max,
        "models": list(summary.models),
        "harnesses": list(summary.harnesses),
        "summary": asdict(counts(summary)),
        **{f"by_{axis}": [{axis: name} | _row(entry) for name, entry in by(axis, summary).items()] for axis in AXES},
        "tasks": tasks,
        **summary.extra,
    }


def compare(summary: Summary, notes: Notes) -> None:
    """Note where the numbers that are stored differ from those that follow from the tasks."""
    for name, (least, most) in _bounds(summary).items():
        if name in summary.stored and not _within(summary.stored[name], least, most):
            follows = str(least) if least == most else f"between {least} and {most}"
            notes.warning(f"summary.{name}", f"is {shown(summary.stored[name])}; by the tasks it is {follows}.")
    for axis in AXES:
        _compare_rows(axis, summary, notes)


def _compare_rows(axis: Axis, summary: Summary, notes: Notes) -> None:
    along = _along(axis, summary)
    for position, row in enumerate(summary.stored_by.get(axis, ())):
        place, name = f"by_{axis}[{position}]", row.get(axis)
        cells = along.get(name) if isinstance(name, str) else None
        if cells is None:
            notes.warning(place, f"is of {axis} {shown(name)}, of which there is no cell.")
            continue
        asked = {int(found[1]) for key in row if (found := _PASS_AT.fullmatch(key))}
        follows = _aggregate(cells, asked | {1})
        expected: dict[str, tuple[float | None, int]] = {
            "cells": (follows.group.cells, 0),
            "n_measured": (follows.group.n_measured, 0),
            **{f"pass@{k}": (share, _SHARE_DECIMALS) for k, share in follows.group.pass_at.items()},
        }
        if all(len(cell.attempts) >= summary.k_max for cell in cells):
            expected["mean_turns"] = (follows.mean_turns, _MEAN_DECIMALS)
        for key, (value, decimals) in expected.items():
            if key in row and not _equal(row[key], value, decimals):
                notes.warning(f"{place}.{key}", f"is {shown(row[key])}; by the tasks it is {_rounded(value)}.")


def _aggregate(cells: Iterable[Cell], ks: Iterable[int]) -> Aggregate:
    listed = list(cells)
    turns = [
        attempt.n_turns
        for cell in listed
        for attempt in cell.attempts
        if attempt.n_turns is not None and attempt.reward is not None
    ]
    group = measured_group(map(measured, listed), sorted(ks))
    return Aggregate(group, sum(turns) / len(turns) if turns else None)


def _along(axis: Axis, summary: Summary) -> dict[str, list[Cell]]:
    columns = summary.models if axis == "model" else summary.harnesses
    along: dict[str, list[Cell]] = {name: [] for name in columns}
    for cell in summary.cells:
        along.setdefault(cell.model if axis == "model" else cell.harness, []).append(cell)
    return {name: cells for name, cells in along.items() if cells}


def _row(entry: Aggregate) -> dict[str, Any]:
    return {
        "cells": entry.group.cells,
        **{f"pass@{k}": share for k, share in entry.group.pass_at.items()},
        "n_measured": entry.group.n_measured,
        "mean_turns": entry.mean_turns,
    }


def _bounds(summary: Summary) -> Mapping[str, tuple[int, int]]:
    """Least and most that each count can be: a cell may have had up to ``k_max`` attempts without listing them."""
    found = counts(summary)
    unlisted = sum(max(0, summary.k_max - measured(cell).attempts) for cell in summary.cells)
    exact = ("tasks_total", "tasks_any_pass", "n_all_infra")
    return {
        **{name: (getattr(found, name), getattr(found, name)) for name in exact},
        "attempts_total": (found.attempts_total, found.attempts_total + unlisted),
        "attempts_passed": (found.attempts_passed, found.attempts_passed + unlisted),
    }


def _within(value: object, least: int, most: int) -> bool:
    number = finite_number(value)
    return number is not None and least <= number <= most


def _equal(stored: object, value: float | None, decimals: int) -> bool:
    """Whether a stored number is ``value``, rounded or cut at as many decimals as it has, but at least so many."""
    number = finite_number(stored)
    if number is None or value is None:
        return stored is None and value is None
    if not decimals:
        return number == value
    return abs(number - value) < 10.0 ** -max(decimals, _decimals(number))


def _decimals(number: float) -> int:
    return min(12, len(f"{number:.12f}".rstrip("0").partition(".")[2]))


def _rounded(value: float | None) -> str:
    return shown(None if value is None else round(value, 4))
