"""All steps of a training run as CSV."""

import csv
import io
import math
from collections.abc import Iterator
from itertools import batched

from starlette.requests import Request

from oddish.viewer.steps import Steps
from oddish.web.pages import Attachment
from oddish.web.viewer.shelf import Shelf

_ROWS = 2_000
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def show(shelf: Shelf, request: Request) -> Attachment:
    """All steps of a training run as CSV: a column for each metric."""
    project, run = shelf.run(request)
    found = shelf.results.metrics(project, run).value
    return Attachment(f"{run}.csv", "text/csv; charset=utf-8", _lines(found.steps if found else Steps()))


def _lines(steps: Steps) -> Iterator[bytes]:
    names = steps.names()
    yield _written([[f"'{name}" if name.startswith(_FORMULA) else name for name in names]])
    columns = [steps.column(name) for name in names]
    for rows in batched(zip(*columns, strict=True), _ROWS):
        yield _written([["" if math.isnan(value) else f"{value:.15g}" for value in row] for row in rows])


def _written(rows: list[list[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode(errors="replace")
