"""Lengths of time as Dockerfiles write them: ``1m30s``, ``500ms``."""

import re

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = re.compile(r"(\d+(?:\.\d+)?|\.\d+)(h|ms|m|s|us|µs|ns)")


class BadDuration(ValueError):
    pass


def seconds(text: str) -> float:
    """Raises ``BadDuration`` for anything but numbers with units."""
    parts = _PART.findall(text)
    if text != "0" and (not parts or "".join(number + unit for number, unit in parts) != text):
        raise BadDuration(f"{text!r} is no length of time such as 1m30s")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
