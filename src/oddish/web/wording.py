"""Values in the words and figures that pages show them in. Pure."""

import math
from collections.abc import Callable, Mapping

NONE = "–"
"""In place of a value that is not there."""
_COUNTED_HOURS = 1_000_000
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def rate(value: float | None) -> str:
    """A share from 0 to 1, to three decimals."""
    return NONE if value is None else f"{value:.3f}"


def interval(bounds: tuple[float, float] | None) -> str:
    """Bounds of a rate."""
    return NONE if bounds is None else f"{bounds[0]:.3f} to {bounds[1]:.3f}"


def signed(value: float | None) -> str:
    """A difference of two rates."""
    return NONE if value is None else f"{value:+.3f}".replace("-", "−")


def number(value: float | None) -> str:
    """At most three decimals, fewer where they are zeros; very large and very small ones with an exponent."""
    if value is None:
        return NONE
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0 or 0.001 <= abs(value) < 1_000_000:
        text = f"{abs(value) if value == 0 else value:,.3f}".rstrip("0").rstrip(".")
    else:
        text = f"{value:.3g}"
    return text.replace("-", "−")


def count(value: int | None) -> str:
    return NONE if value is None else f"{value:,}"


def plural(value: int, noun: str) -> str:
    return f"{value:,} {noun}" if value == 1 else f"{value:,} {noun}s"


def duration(seconds: float | None) -> str:
    if seconds is None:
        return NONE
    if seconds < 1:
        return f"{max(0.0, seconds) * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    if seconds >= _COUNTED_HOURS * 3600:
        return f"{number(seconds / 3600)} h"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60:02d} min"


def size(octets: int | None) -> str:
    if octets is None:
        return NONE
    value, unit = float(octets), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{octets:,} B" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"


FILTERS: Mapping[str, Callable[..., str]] = {
    "rate": rate,
    "interval": interval,
    "signed": signed,
    "number": number,
    "count": count,
    "plural": plural,
    "duration": duration,
    "size": size,
}
"""Of templates, by name."""
