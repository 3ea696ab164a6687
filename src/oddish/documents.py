"""JSON documents and small files that were written next to untrusted code. Standard library only.

Symbolic links are never followed, sizes are capped before anything is parsed, and nothing found in a file raises: a
value that has not the wanted shape is as good as absent.
"""

import json
import math
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from oddish import regular

MAX_CONTAINERS = 1_000_000
"""Objects and lists in one document. Parsed, they take up to thirty times their size in the file."""
MAX_MEMBERS = 8_000_000
MAX_LEVELS = 100
"""Of objects and lists in one another."""
COUNT_LIMIT = 2**63 - 1

type Problem = Literal["missing", "refused", "too_large", "malformed"]
"""Why a file cannot be used. ``refused``: a link, a device or not readable. ``too_large``: in bytes or members."""

type Parse = Callable[[bytes], Any]
"""Reads JSON as ``json.loads`` does it, and raises the same of what is none."""

_CONTAINERS = frozenset({dict, list})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read_object(directory: Path, relative: str, limit: int) -> tuple[dict[str, Any], Problem | None]:
    """The JSON object in a file of at most ``limit`` bytes, or an empty one and what is wrong with the file."""
    content, problem = read_bytes(directory, relative, limit)
    if problem is not None:
        return {}, problem
    return parse_object(content)


def parse_object(content: bytes, parse: Parse = json.loads) -> tuple[dict[str, Any], Problem | None]:
    """The JSON object that ``content`` is, or an empty one and what is wrong with it."""
    if len(content) > MAX_CONTAINERS:
        containers = content.count(b"{") + content.count(b"[")
        if containers > MAX_CONTAINERS or content.count(b",") > MAX_MEMBERS:
            return {}, "too_large"
    try:
        document = parse(content)
    except (ValueError, RecursionError):
        return {}, "malformed"
    return (document, None) if isinstance(document, dict) else ({}, "malformed")


def read_bytes(directory: Path, relative: str, limit: int) -> tuple[bytes, Problem | None]:
    """The content of a file of at most ``limit`` bytes, or nothing and what is wrong with it."""
    try:
        with os.fdopen(open_below(directory, relative), "rb") as file:
            content = file.read(limit + 1)
    except FileNotFoundError:
        return b"", "missing"
    except OSError:
        return b"", "refused"
    return (b"", "too_large") if len(content) > limit else (content, None)


def is_file(directory: Path, relative: str) -> bool:
    """Whether ``open_below`` would open it."""
    try:
        os.close(open_below(directory, relative))
    except OSError:
        return False
    return True


def open_below(directory: Path, relative: str) -> int:
    """As ``oddish.regular`` does it; a name that cannot be printed is none. Raises OSError."""
    if not relative.isprintable():
        raise FileNotFoundError(relative)
    return regular.open_below(directory, relative)


def too_deep(document: object) -> bool:
    """Whether objects and lists are in one another so deep that what could be read cannot be written."""
    level: list[Any] = [document] if type(document) in _CONTAINERS else []
    for _ in range(MAX_LEVELS):
        level = [
            member
            for value in level
            for member in (value.values() if isinstance(value, dict) else value)
            if type(member) in _CONTAINERS
        ]
        if not level:
            return False
    return True


def mapping(value: object) -> dict[str, Any]:
    """A JSON object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def sequence(value: object) -> list[Any]:
    """A JSON list; an empty one for anything else."""
    return value if isinstance(value, list) else []


def mappings(value: object) -> list[dict[str, Any]]:
    """The objects in a JSON list; none for anything else."""
    return [item for item in sequence(value) if isinstance(item, dict)]


def text(value: object) -> str | None:
    """A JSON string; None for anything else."""
    return value if isinstance(value, str) else None


def finite_number(value: object) -> float | None:
    """A JSON number that a float can hold, no truth value; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def whole_number(value: object) -> int | None:
    """A JSON integer from 0 to ``COUNT_LIMIT``; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= COUNT_LIMIT else None


def moment(timestamp: object) -> float | None:
    """Seconds since 1970 of an ISO 8601 time, taken as UTC without a zone; None for anything else."""
    if not isinstance(timestamp, str):
        return None
    try:
        read = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    return ((read if read.tzinfo else read.replace(tzinfo=UTC)) - _EPOCH).total_seconds()
