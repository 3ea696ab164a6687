"""A dataset: how its columns did, two of them compared, and its tasks with what came of each attempt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from starlette.requests import Request

from oddish.outcome import MeasuredSummary
from oddish.viewer.choosing import Selection, choose
from oddish.viewer.columns import PIVOTS, Column, Pivot
from oddish.viewer.filters import UNTOLD, View, parse
from oddish.viewer.findings import Finding
from oddish.viewer.leaderboards import Standing, ranked, standings
from oddish.viewer.sorting import SORTS
from oddish.viewer.versions import Version
from oddish.web.pages import Page
from oddish.web.paging import Paging
from oddish.web.viewer.comparison import ComparisonModel, compared, comparison_model
from oddish.web.viewer.project import Support
from oddish.web.viewer.shelf import Shelf
from oddish.web.viewer.tasktable import TaskModel, task_models

MOST_COLUMNS = 100
FORMAT = "format"
"""The parameter that every page has."""
TASKS = "tasks"
"""The part of the page with the tasks."""
HIGHEST_FIRST = ("passes", "disagreement", "turns", "time")
"""Orders that are looked at from their end."""
_NO_COLUMNS = {"first": None, "second": None, "flipped": None}


@dataclass(frozen=True, slots=True)
class Numbers:
    """Of all tasks."""

    k_max: int
    counts: MeasuredSummary
    cells: int
    measured_cells: int


@dataclass(frozen=True, slots=True)
class PivotLink:
    pivot: Pivot
    address: str


@dataclass(frozen=True, slots=True)
class Sorting:
    address: str
    direction: str | None
    """``ascending`` or ``descending`` where the tasks are in this order."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The tasks that pass the filters, and how the columns did on them."""

    standings: tuple[Standing, ...]
    """Like the columns."""
    is_all: bool
    by_outcome: bool
    """They were chosen by what came of them, so that their rates say little."""
    paging: Paging
    tasks: tuple[TaskModel, ...]
    """Those of the page."""


@dataclass(frozen=True, slots=True)
class Offers:
    difficulties: tuple[str, ...]
    modes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """What there is to see of a summary that can be read."""

    numbers: Numbers
    view: View
    notices: tuple[Finding, ...]
    """What of the address was left out."""
    pivots: tuple[PivotLink, ...]
    offers: Offers
    columns: tuple[Column, ...]
    leaderboard: tuple[Standing, ...]
    """Of all tasks, the best first."""
    comparison: ComparisonModel | None
    chosen: Chosen
    sortings: Mapping[str, Sorting | None]
    """None where no task tells what it would be ordered by."""
    everything: str
    """Address without filters."""


@dataclass(frozen=True, slots=True)
class DatasetModel:
    id: str
    label: str
    notes: str | None
    support: tuple[Support, ...]
    """Of the harnesses that are used here."""
    shown: Shown | None
    is_stale: bool
    """The file cannot be read now, and this is what it last held."""
    findings: tuple[Finding, ...]


def show(shelf: Shelf, request: Request) -> Page:
    """A dataset: leaderboard, comparison, and its tasks with what came of each attempt."""
    project, dataset = shelf.dataset(request)
    reading = shelf.versions.of(project, dataset)
    about, of_project = shelf.results.dataset(project, dataset), shelf.results.project(project)
    pairs = [(name, text) for name, text in request.query_params.multi_items() if name != FORMAT]
    shown = None if reading.value is None else _shown(shelf, (project, dataset), reading.value, pairs)
    harnesses = reading.value.table.summary.harnesses if reading.value else ()
    support = of_project.value.support if of_project.value else {}
    model = DatasetModel(
        id=dataset,
        label=(about.value and about.value.label) or dataset,
        notes=about.value.notes if about.value else None,
        support=tuple(
            Support(name, support[name].tier, support[name].caveats) for name in harnesses if name in support
        ),
        shown=shown,
        is_stale=reading.is_stale,
        findings=(*about.findings, *reading.findings),
    )
    drawn = {} if shown is None else {"hidden": shown.view.pairs(), "untold": UNTOLD}
    return Page("viewer/dataset.html", model.label, model, trail=shelf.trail(project), drawn=drawn)


def _shown(shelf: Shelf, place: tuple[str, str], version: Version, pairs: Sequence[tuple[str, str]]) -> Shown:
    table = version.table
    view, notices = parse(pairs, table)
    of_all = version.standings(view.pivot)
    comparison = compared(version, view, of_all)
    selection = choose(table, view, comparison)
    columns = table.columns(view.pivot)
    if len(columns) > MOST_COLUMNS:
        notices += (Finding("warning", "", f"There are {len(columns)} columns; the first {MOST_COLUMNS} are shown."),)
    columns = columns[:MOST_COLUMNS]
    is_all = len(selection.found) == len(table.rows)
    of_chosen = of_all if is_all else standings(table, selection.found, view.pivot)
    return Shown(
        numbers=_numbers(version),
        view=view,
        notices=notices,
        pivots=tuple(PivotLink(pivot, _address(view.query(pivot=pivot, **_NO_COLUMNS))) for pivot in PIVOTS),
        offers=Offers(_named(table.difficulties), _named(table.reward_modes)),
        columns=columns,
        leaderboard=ranked(of_all.values())[:MOST_COLUMNS],
        comparison=None if comparison is None else comparison_model(comparison, view),
        chosen=Chosen(
            standings=tuple(of_chosen[column.key] for column in columns),
            is_all=is_all,
            by_outcome=view.chooses_by_outcome,
            paging=_paging(selection, view),
            tasks=task_models(shelf.links, place, view, columns, selection.rows, table.summary.k_max),
        ),
        sortings={name: _sorting(view, name) if name in version.orders else None for name in SORTS},
        everything=_address(View(pivot=view.pivot, show=view.show, size=view.size).query()),
    )


def _numbers(version: Version) -> Numbers:
    table = version.table
    return Numbers(
        k_max=table.summary.k_max,
        counts=table.counts,
        cells=sum(len(row.entries) for row in table.rows),
        measured_cells=sum(row.measured for row in table.rows),
    )


def _named(values: Sequence[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value or UNTOLD for value in values))


def _sorting(view: View, name: str) -> Sorting:
    if name != view.sorted_by:
        return Sorting(_address(view.query(sort=f"-{name}" if name in HIGHEST_FIRST else name), TASKS), None)
    turned = name if view.is_descending else f"-{name}"
    return Sorting(_address(view.query(sort=turned), TASKS), "descending" if view.is_descending else "ascending")


def _paging(selection: Selection, view: View) -> Paging:
    total, before = len(selection.found), (selection.page - 1) * view.size

    def address(page: int) -> str | None:
        return _address(view.query(page=page), TASKS) if 1 <= page <= selection.pages else None

    return Paging(
        page=selection.page,
        pages=selection.pages,
        total=total,
        first=min(before + 1, total),
        last=before + len(selection.rows),
        previous=address(selection.page - 1),
        next=address(selection.page + 1),
    )


def _address(query: str, part: str = "") -> str:
    return f"?{query}#{part}" if part else f"?{query}"
