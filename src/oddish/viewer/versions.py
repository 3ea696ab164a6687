"""Datasets as they were last read, with what follows from their tasks worked out once for each version of the file."""

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock

from oddish.viewer.columns import Column, Pivot
from oddish.viewer.comparisons import Comparison, compare_columns
from oddish.viewer.derived import Derived
from oddish.viewer.files import Reading
from oddish.viewer.leaderboards import Standing, standings
from oddish.viewer.results import Results
from oddish.viewer.sorting import orders
from oddish.viewer.summaries import Summary
from oddish.viewer.tables import Table

KEPT = 4
"""Datasets of which what follows is remembered."""
KEPT_COMPARISONS = 16


class Version:
    """One summary. Safe to share between threads."""

    def __init__(self, summary: Summary) -> None:
        self.table = Table(summary)
        self.orders = orders(self.table.rows)
        self._standings: dict[Pivot, Mapping[str, Standing]] = {}
        self._comparisons: OrderedDict[tuple[Pivot, Column, Column], Comparison] = OrderedDict()
        self._lock = Lock()

    def standings(self, pivot: Pivot) -> Mapping[str, Standing]:
        """Of all its tasks."""
        with self._lock:
            if pivot not in self._standings:
                self._standings[pivot] = standings(self.table, self.table.rows, pivot)
            return self._standings[pivot]

    def comparison(self, pivot: Pivot, first: Column, second: Column) -> Comparison:
        asked = (pivot, first, second)
        with self._lock:
            if asked not in self._comparisons:
                self._comparisons[asked] = compare_columns(self.table, pivot, first, second)
                if len(self._comparisons) > KEPT_COMPARISONS:
                    self._comparisons.popitem(last=False)
            return self._comparisons[asked]


class Versions:
    """The datasets of a results directory. Safe to share between threads."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._versions: Derived[tuple[str, str], Version] = Derived(KEPT)

    def of(self, project: str, dataset: str) -> Reading[Version]:
        """As ``Results.summary`` reads it."""
        reading = self._results.summary(project, dataset)
        if (summary := reading.value) is None:
            return Reading(None, reading.findings)
        version = self._versions.of((project, dataset), (summary,), lambda: Version(summary))
        return Reading(version, reading.findings, reading.is_stale)
