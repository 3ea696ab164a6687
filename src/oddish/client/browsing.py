"""Finding tasks."""

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from oddish.client.shapes import items, members
from oddish.client.types import JSON, BrowseItem, BrowsePage, ExperimentOptions, ExperimentRef, Facets, Total

if TYPE_CHECKING:
    from oddish.browsing import Browse
    from oddish.client.connection import Connection

ITEM = ("id", "name", "current_version", "total_trials", "completed_trials", "failed_trials", "user_tags")


class Browsing:
    def __init__(self, connection: "Connection") -> None:
        self._connection = connection

    def page(self, wanted: "Browse | None" = None) -> BrowsePage:
        """One page of the tasks that pass a filter; by default the newest of all."""
        from oddish.browsing import Browse, parameters

        params = parameters(replace(wanted or Browse(), count_only=False))
        page = members(self._connection.call("GET", "/tasks/browse", params=params), BrowsePage, "items", "has_more")
        items(cast("JSON", page["items"]), BrowseItem, *ITEM)
        return page

    def count(self, wanted: "Browse | None" = None) -> int:
        """How many tasks pass, on all pages."""
        from oddish.browsing import Browse, parameters

        params = parameters(replace(wanted or Browse(), limit=Browse().limit, offset=0, sort=None, count_only=True))
        return members(self._connection.call("GET", "/tasks/browse", params=params), Total, "total")["total"]

    def facets(self) -> Facets:
        """The values that filters can be given."""
        return members(self._connection.call("GET", "/tasks/browse/facets"), Facets, "tags", "agents", "models")

    def experiments(self, query: str = "", *, limit: int = 50) -> list[ExperimentRef]:
        """Those whose name holds ``query``, the last active first; at most 200."""
        params: dict[str, str | int | bool] = {"query": query, "limit": limit}
        answer = self._connection.call("GET", "/tasks/browse/experiment-options", params=params)
        return members(answer, ExperimentOptions, "items")["items"]
