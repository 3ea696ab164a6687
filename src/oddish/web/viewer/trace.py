"""The trace of an attempt: what was said and done, piece by piece, and what came of it."""

from dataclasses import dataclass
from functools import partial

from starlette.datastructures import QueryParams
from starlette.requests import Request

from oddish.errors import NotFound
from oddish.viewer.conversations import Entry, Excerpt, excerpt
from oddish.viewer.files import Reading
from oddish.viewer.findings import Finding
from oddish.viewer.marks import State, state
from oddish.viewer.searching import LONGEST, Hits, search
from oddish.viewer.summaries import Attempt, Cell, Summary
from oddish.viewer.tracefiles import OpenTrace
from oddish.viewer.traces import Trace
from oddish.web.pages import Page
from oddish.web.rendering.room import Room
from oddish.web.viewer import attempts
from oddish.web.viewer.attempts import Found, Head
from oddish.web.viewer.numbers import number
from oddish.web.viewer.places import LIMIT, Place
from oddish.web.viewer.shelf import Shelf

MOST = 200
"""Messages at once."""


@dataclass(frozen=True, slots=True)
class Other:
    """Another attempt at the same task."""

    label: str
    attempt: int
    state: State
    reward: float | None
    trace: str
    address: str
    comparison: str
    """Address of both side by side."""
    is_this: bool


@dataclass(frozen=True, slots=True)
class HitEntry:
    number: int
    before: str
    found: str
    after: str
    count: int
    address: str


@dataclass(frozen=True, slots=True)
class TraceModel:
    head: Head
    question: str | None
    attempts: tuple[Other, ...]
    """Of the same model in the same harness, by number."""
    others: tuple[Other, ...]
    """All others at this task, to compare with."""
    previous: str | None
    """Address of the attempt before this one."""
    next: str | None
    previous_task: str | None
    """Address of the same cell's attempt at the task before this one."""
    next_task: str | None
    messages: tuple[Entry, ...]
    first: int
    last: int
    """Results that are shown with their calls count as well."""
    total: int
    earlier: str | None
    later: str | None
    find: str
    hits: tuple[HitEntry, ...]
    more_hits: str | None
    """Address to look further at."""
    findings: tuple[Finding, ...]


def show(shelf: Shelf, request: Request) -> Page:
    """The trace of an attempt: messages, calls with their results, gold and predicted answer; what is found in it."""
    place, query = Place(shelf.links, *shelf.dataset(request), str(request.path_params["trace"])), request.query_params
    summary = shelf.results.summary(place.project, place.dataset).value
    at = attempts.found(summary, place.trace)
    with shelf.results.open_trace(place.project, place.dataset, place.trace) as reading:
        if reading.value is None and at is None:
            raise NotFound(f"Dataset {place.dataset!r} has no trace {place.trace!r}.", fix="Choose another attempt.")
        model = _model(place, summary, at, reading, query)
    drawn = {
        "room": Room(whole="whole" in query),
        "address": partial(place.message, find=model.find),
        "alone": place.alone,
        "comparison": shelf.links.compare(place.project, place.dataset, "", ""),
    }
    trail = shelf.trail(place.project, place.dataset)
    return Page("viewer/trace.html", model.head.label, model, trail=trail, drawn=drawn)


def _model(
    place: Place, summary: Summary | None, at: Found | None, reading: Reading[OpenTrace], query: QueryParams
) -> TraceModel:
    opened = reading.value
    whole = opened.head if opened else Trace()
    limit = number(query, "limit", LIMIT, most=MOST)
    shown = excerpt(opened, number(query, "from", 1), limit) if opened else Excerpt((), 1, 0, 0)
    find = query.get("find", "").strip()[:LONGEST]
    hits = search(opened, find, number(query, "after", 1)) if opened else Hits(())
    others = list(attempts.siblings(at.task)) if at else []
    same = [_other(place, cell, attempt, in_cell=True) for cell, attempt in others if at and cell is at.cell]
    position = next((index for index, other in enumerate(same) if other.is_this), 0)
    before, after = attempts.neighbours(summary, at) if summary and at else (None, None)
    findings = attempts.contradictions(place.project, place.dataset, whole, at) if opened and at else ()
    return TraceModel(
        head=attempts.head(place.trace, whole, at),
        question=at.task.question if at else None,
        attempts=tuple(same),
        others=tuple(
            _other(place, cell, attempt, in_cell=False) for cell, attempt in others if attempt.trace != place.trace
        ),
        previous=same[position - 1].address if position else None,
        next=same[position + 1].address if position + 1 < len(same) else None,
        previous_task=_address(place, before),
        next_task=_address(place, after),
        messages=shown.entries,
        first=shown.first,
        last=shown.last,
        total=shown.total,
        earlier=place.piece(max(shown.first - limit, 1), limit, find) if shown.first > 1 else None,
        later=place.piece(shown.last + 1, limit, find) if shown.last < shown.total else None,
        find=find,
        hits=tuple(
            HitEntry(hit.number, hit.before, hit.found, hit.after, hit.count, place.message(hit.number, find))
            for hit in hits.hits
        ),
        more_hits=place.piece(shown.first, limit, find, hits.goes_on) if hits.goes_on else None,
        findings=(*reading.findings, *findings),
    )


def _address(place: Place, found: Found | None) -> str | None:
    return place.links.trace(place.project, place.dataset, found.attempt.trace or "") if found else None


def _other(place: Place, cell: Cell, attempt: Attempt, *, in_cell: bool) -> Other:
    trace = attempt.trace or ""
    return Other(
        label=f"Attempt {attempt.attempt}"
        if in_cell
        else f"{attempts.whose(cell.model, cell.harness)}, {attempt.attempt}",
        attempt=attempt.attempt,
        state=state(attempt),
        reward=attempt.reward,
        trace=trace,
        address=place.links.trace(place.project, place.dataset, trace),
        comparison=place.links.compare(place.project, place.dataset, place.trace, trace),
        is_this=trace == place.trace,
    )
