"""Where a trace is, and the addresses of its pieces."""

from dataclasses import dataclass

from oddish.web.viewer.links import Links, Value

LIMIT = 50
"""Messages at once, unless something else is asked for."""
BEFORE = 2
"""Messages that are shown before the one that a link leads to."""


@dataclass(frozen=True, slots=True)
class Place:
    links: Links
    project: str
    dataset: str
    trace: str
    """Path from the directory of the dataset."""

    def piece(self, first: int, limit: int = LIMIT, find: str = "", after: int | None = None) -> str:
        """Messages from ``first``, with what was found beside them."""
        asked = {"from": first, "limit": limit if limit != LIMIT else None, "find": find, "after": after}
        return self.links.trace(self.project, self.dataset, self.trace, **asked)

    def message(self, number: int, find: str = "") -> str:
        return f"{self.piece(max(number - BEFORE, 1), find=find)}#m{number}"

    def alone(self, number: int) -> str:
        """A message whose texts are neither cut short nor folded."""
        asked: dict[str, Value] = {"from": number, "limit": 1, "whole": "yes"}
        return self.links.trace(self.project, self.dataset, self.trace, **asked)
