"""Numbers that a script is given, as types of argparse: what makes no sense is refused with the reason."""

import math
from argparse import ArgumentTypeError


def at_least_one(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number from 1 up")
    return value


def above_zero(text: str) -> float:
    value = _finite(text)
    if value is None or value <= 0:
        raise ArgumentTypeError(f"{text!r} is not a number above 0")
    return value


def from_zero(text: str) -> float:
    value = _finite(text)
    if value is None or value < 0:
        raise ArgumentTypeError(f"{text!r} is not a number from 0 up")
    return value


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
