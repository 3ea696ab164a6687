"""Two traces side by side: what both did in one row, and where they went apart."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from starlette.datastructures import QueryParams
from starlette.requests import Request

from oddish.errors import InvalidInput, NotFound
from oddish.viewer.conversations import Entry, entries
from oddish.viewer.divergence import MOST_MESSAGES, Comparison, Difference, Row, compare
from oddish.viewer.findings import Finding
from oddish.viewer.summaries import Summary
from oddish.viewer.tracefiles import OpenTrace
from oddish.viewer.traces import Trace
from oddish.web.pages import Page
from oddish.web.rendering.room import Room
from oddish.web.viewer import attempts
from oddish.web.viewer.attempts import Head
from oddish.web.viewer.numbers import number
from oddish.web.viewer.places import Place
from oddish.web.viewer.shelf import Shelf

LIMIT, MOST = 40, 100
"""Rows at once: unless something else is asked for, and at most."""
BEFORE = 2
"""Rows that are shown before the one that a link leads to."""


@dataclass(frozen=True, slots=True)
class Side:
    head: Head
    address: str
    total: int
    """Of messages."""


@dataclass(frozen=True, slots=True)
class RowEntry:
    """``number`` is from 1."""

    number: int
    difference: Difference
    left: Entry | None
    right: Entry | None


@dataclass(frozen=True, slots=True)
class PairModel:
    left: Side
    right: Side
    swapped: str
    """Address of the same with its sides exchanged."""
    same: int
    """Rows of which the actions are the same."""
    first_action: int | None
    """Number of the first row with another action."""
    first_result: int | None
    """Number of the first row with the same action and another result."""
    compared: int | None
    """Messages of each that were compared; None when all were."""
    rows: tuple[RowEntry, ...]
    first: int
    last: int
    total: int
    earlier: str | None
    later: str | None
    findings: tuple[Finding, ...]


def show(shelf: Shelf, request: Request) -> Page:
    """Two traces side by side, and the first step at which they differ."""
    project, dataset = shelf.dataset(request)
    left, right = (
        Place(shelf.links, project, dataset, _named(request.query_params.get(side, ""), side))
        for side in ("left", "right")
    )
    model = _model(shelf, left, right, request.query_params)
    drawn = {
        "room": Room(),
        "row": partial(_row_address, left, right),
        "addresses": {"left": left.message, "right": right.message},
        "alone": {"left": left.alone, "right": right.alone},
    }
    trail = shelf.trail(project, dataset)
    return Page("viewer/tracepair.html", "Two traces side by side", model, trail=trail, drawn=drawn)


def _model(shelf: Shelf, left: Place, right: Place, query: QueryParams) -> PairModel:
    summary = shelf.results.summary(left.project, left.dataset).value
    with (
        shelf.results.open_trace(left.project, left.dataset, left.trace) as one,
        shelf.results.open_trace(right.project, right.dataset, right.trace) as other,
    ):
        sides = _side(left, one.value, summary), _side(right, other.value, summary)
        both = (one.value, other.value) if one.value and other.value else None
        comparison = compare(*both) if both else Comparison((), is_whole=True)
        total, limit = len(comparison.rows), number(query, "limit", LIMIT, most=MOST)
        first = min(number(query, "from", 1), max(total, 1))
        last = min(first - 1 + limit, total)
        rows = tuple(_rows(comparison.rows[first - 1 : last], first, *both)) if both else ()
    return PairModel(
        left=sides[0],
        right=sides[1],
        swapped=_address(right, left, 1),
        same=sum(row.difference != "action" for row in comparison.rows),
        first_action=_from_one(comparison.first("action")),
        first_result=_from_one(comparison.first("result")),
        compared=None if comparison.is_whole else MOST_MESSAGES,
        rows=rows,
        first=first,
        last=last,
        total=total,
        earlier=_address(left, right, max(first - limit, 1), limit) if first > 1 else None,
        later=_address(left, right, last + 1, limit) if last < total else None,
        findings=(*one.findings, *other.findings),
    )


def _address(left: Place, right: Place, first: int, limit: int = LIMIT) -> str:
    asked = {"from": first if first > 1 else None, "limit": limit if limit != LIMIT else None}
    return left.links.compare(left.project, left.dataset, left.trace, right.trace, **asked)


def _row_address(left: Place, right: Place, row: int) -> str:
    return f"{_address(left, right, max(row - BEFORE, 1))}#r{row}"


def _named(trace: str, side: str) -> str:
    if not trace:
        raise InvalidInput(f"No trace is named for the {side} side.", fix=f"Add {side}=PATH to the address.")
    return trace


def _side(place: Place, opened: OpenTrace | None, summary: Summary | None) -> Side:
    at = attempts.found(summary, place.trace)
    if opened is None and at is None:
        raise NotFound(f"Dataset {place.dataset!r} has no trace {place.trace!r}.", fix="Choose another attempt.")
    head = attempts.head(place.trace, opened.head if opened else Trace(), at)
    address = place.links.trace(place.project, place.dataset, place.trace)
    return Side(head, address, opened.total if opened else 0)


def _rows(rows: Sequence[Row], first: int, left: OpenTrace, right: OpenTrace) -> Iterator[RowEntry]:
    one = entries(left, [row.left.number for row in rows if row.left])
    other = entries(right, [row.right.number for row in rows if row.right])
    for place, row in enumerate(rows, start=first):
        yield RowEntry(
            place,
            row.difference,
            one[row.left.number] if row.left else None,
            other[row.right.number] if row.right else None,
        )


def _from_one(position: int | None) -> int | None:
    return None if position is None else position + 1
