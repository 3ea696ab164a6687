"""Paths of calls."""

from urllib.parse import quote


def segment(name: str) -> str:
    """A name as one part of a path, whatever is in it."""
    return quote(name, safe="")
