"""Whole numbers in the query of an address."""

from starlette.datastructures import QueryParams

from oddish.errors import InvalidInput

_DIGITS = 9


def number(query: QueryParams, name: str, default: int, *, most: int | None = None) -> int:
    """From 1, at most ``most``. Raises ``InvalidInput`` for what is no number."""
    asked = query.get(name)
    if not asked:
        return default
    if not (asked.isascii() and asked.isdecimal() and len(asked) <= _DIGITS and int(asked) > 0):
        raise InvalidInput(f"{name} is {asked[:40]!r}, no number from 1.", fix=f"Leave {name} out of the address.")
    return min(int(asked), most) if most else int(asked)
