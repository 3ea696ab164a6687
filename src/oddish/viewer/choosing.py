"""The tasks of a dataset that a view asks for: filtered, in order, a page of them at a time. Pure."""

from dataclasses import dataclass

from oddish.viewer.comparisons import Comparison
from oddish.viewer.filters import UNTOLD, View
from oddish.viewer.sorting import in_order
from oddish.viewer.tables import Row, Table


@dataclass(frozen=True, slots=True)
class Selection:
    found: tuple[Row, ...]
    """All that pass the filters, in order."""
    rows: tuple[Row, ...]
    """Those on the page."""
    page: int
    """From 1; the last one where the view asks for one beyond it."""
    pages: int


def choose(table: Table, view: View, comparison: Comparison | None) -> Selection:
    """``comparison`` is that of the view's columns; without one no task is flipped."""
    words = view.q.casefold().split()
    flipped = _flipped(view, comparison)
    found = [
        row
        for row in table.rows
        if _has_properties(row, view)
        and _has_outcome(row, view)
        and (flipped is None or row.position in flipped)
        and _has_words(row, words)
    ]
    ordered = in_order(found, view.sorted_by, descending=view.is_descending)
    pages = max(1, -(-len(ordered) // view.size))
    page = min(view.page, pages)
    begin = (page - 1) * view.size
    return Selection(tuple(ordered), tuple(ordered[begin : begin + view.size]), page, pages)


def _has_properties(row: Row, view: View) -> bool:
    task = row.task
    return not (
        (view.difficulty and (task.difficulty or UNTOLD) not in view.difficulty)
        or (view.mode and (task.reward_mode or UNTOLD) not in view.mode)
    )


def _has_outcome(row: Row, view: View) -> bool:
    if view.passed is not None:
        passed = {"any": row.passed > 0, "all": row.passed == row.measured, "none": row.passed == 0}[view.passed]
        if not (row.measured and passed):
            return False
    if view.infra is not None and not (row.is_all_infra if view.infra == "all" else row.has_infra):
        return False
    return not view.disagreement or bool(row.disagreement)


def _flipped(view: View, comparison: Comparison | None) -> frozenset[int] | None:
    if view.flipped is None:
        return None
    if comparison is None:
        return frozenset()
    rows = (
        *(comparison.won if view.flipped != "second" else ()),
        *(comparison.lost if view.flipped != "first" else ()),
    )
    return frozenset(row.position for row in rows)


def _has_words(row: Row, words: list[str]) -> bool:
    if not words:
        return True
    task = row.task
    text = "\n".join(filter(None, (task.id, task.question, task.answer))).casefold()
    return all(word in text for word in words)
