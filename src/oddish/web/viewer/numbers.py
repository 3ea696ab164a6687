"""Whole numbers in the query of an address."""

from starlette.datastructures import QueryParams

from oddish.viewer.parameters import whole


def number(query: QueryParams, name: str, default: int, *, most: int | None = None) -> int:
    """From 1 to ``most``. Raises ``InvalidInput`` for anything else."""
    return whole(name, query.get(name), default, most=most)
