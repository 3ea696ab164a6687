"""What is a column of a table of tasks: models, harnesses, or both crossed, as whoever looks at it wants. Pure."""

from dataclasses import dataclass
from typing import Literal

from oddish.viewer.summaries import Cell, Summary

type Pivot = Literal["both", "model", "harness"]

PIVOTS: tuple[Pivot, ...] = ("both", "model", "harness")


@dataclass(frozen=True, slots=True)
class Column:
    key: str
    model: str | None
    """None where cells of any are in the column, like ``harness``."""
    harness: str | None


def key_of(pivot: Pivot, cell: Cell) -> str:
    """Of the column that a cell is in."""
    return cell.key if pivot == "both" else cell.model if pivot == "model" else cell.harness


def columns(pivot: Pivot, summary: Summary) -> tuple[Column, ...]:
    """Those that have cells, by the order of models, then of harnesses."""
    models = {name: place for place, name in enumerate(summary.models)}
    harnesses = {name: place for place, name in enumerate(summary.harnesses)}
    found: dict[str, Column] = {}
    for cell in summary.cells:
        key = key_of(pivot, cell)
        if key not in found:
            model = None if pivot == "harness" else cell.model
            found[key] = Column(key, model, None if pivot == "model" else cell.harness)
    last = max(len(models), len(harnesses))
    return tuple(
        sorted(
            found.values(),
            key=lambda column: (models.get(column.model or "", last), harnesses.get(column.harness or "", last)),
        )
    )
