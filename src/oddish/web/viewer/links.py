"""Addresses of the viewer's pages, below wherever it is mounted. Pure."""

from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, urlencode

type Value = str | int | float | None


@dataclass(frozen=True, slots=True)
class Links:
    """``base`` has no slash at its end. Parameters of the query that are None or empty are left out."""

    base: str = ""

    def projects(self, **query: Value) -> str:
        return self._address("", query) if self.base else self._address("/", query)

    def project(self, project: str, **query: Value) -> str:
        return self._address(f"/projects/{_quoted(project)}", query)

    def dataset(self, project: str, dataset: str, **query: Value) -> str:
        return self._address(self._dataset(project, dataset), query)

    def trace(self, project: str, dataset: str, trace: str, **query: Value) -> str:
        """``trace`` is the path that an attempt names."""
        return self._address(f"{self._dataset(project, dataset)}/trace/{quote(trace, safe='/')}", query)

    def compare(self, project: str, dataset: str, left: str, right: str, **query: Value) -> str:
        """Two traces side by side."""
        return self._address(f"{self._dataset(project, dataset)}/compare", {"left": left, "right": right, **query})

    def run(self, project: str, run: str, **query: Value) -> str:
        return self._address(f"/projects/{_quoted(project)}/runs/{_quoted(run)}", query)

    def metrics(self, project: str, run: str) -> str:
        """All steps of a run as CSV."""
        return f"{self.run(project, run)}/metrics.csv"

    def runs(self, project: str, runs: list[str], **query: Value) -> str:
        """Several runs, one over the other."""
        chosen = urlencode([("run", run) for run in runs])
        address = self._address(f"/projects/{_quoted(project)}/runs", query)
        return f"{address}{'&' if '?' in address else '?'}{chosen}" if chosen else address

    def _dataset(self, project: str, dataset: str) -> str:
        return f"/projects/{_quoted(project)}/datasets/{_quoted(dataset)}"

    def _address(self, path: str, query: dict[str, Value]) -> str:
        given = {name: value for name, value in query.items() if value not in (None, "")}
        return f"{self.base}{path}?{urlencode(given)}" if given else f"{self.base}{path}"


@lru_cache(maxsize=1024)
def _quoted(part: str) -> str:
    return quote(part, safe="")
