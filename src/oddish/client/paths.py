"""Paths of calls."""

from urllib.parse import quote

from oddish.errors import InvalidInput

LEADS_ELSEWHERE = ("", ".", "..")
"""Parts of a path that stand for another path, however they are quoted."""


def segment(name: str, kind: str) -> str:
    """An id or name as one part of a path, whatever is in it. ``kind`` is what has it, such as ``a task``.

    Raises ``InvalidInput`` for what nothing can be called and would make it another call.
    """
    if name in LEADS_ELSEWHERE:
        raise InvalidInput(f"{name!r} is no id or name of {kind}.", fix=f"Give the id or name of {kind}.")
    return quote(name, safe="")
