"""What may be said of a task beside its tags: a link, and where it comes from. Standard library only: the command line
imports it.
"""

import json
from collections.abc import Mapping
from typing import cast
from urllib.parse import urlsplit

from oddish.errors import InvalidInput
from oddish.tasks.characters import value_flaw

LONGEST_LINK = 2000
LARGEST_META = 16_384
"""Bytes of the JSON."""
SCHEMES = ("http", "https")


class InvalidMeta(InvalidInput):
    """Metadata that is no JSON object, or a larger one than is kept."""

    code = "invalid_meta"


def link_flaw(text: str) -> str | None:
    """Why nobody should be led to ``text``, as a phrase that follows its name."""
    if len(text) > LONGEST_LINK:
        return f"is longer than {LONGEST_LINK} characters"
    if any(sign.isspace() or sign == "\\" or not sign.isprintable() for sign in text):
        return "holds a space, a backslash or a character that cannot be seen"
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        return f"is no address: {error}"
    if parts.scheme not in SCHEMES:
        return "begins with neither http:// nor https://"
    if not host:
        return "names no host"
    if parts.username is not None or parts.password is not None:
        return "holds a login, which everybody who sees the task would see"
    return None


def meta_flaw(meta: Mapping[str, object]) -> str | None:
    """Why a JSON object is not kept with a task, as a phrase that follows its name."""
    size = len(json.dumps(meta, ensure_ascii=False, separators=(",", ":")).encode())
    return f"is {size} bytes of JSON, more than {LARGEST_META}" if size > LARGEST_META else None


def read_meta(text: str) -> dict[str, object]:
    """The JSON object that ``text`` is. Raises ``InvalidMeta``, which shows nothing of it."""
    try:
        meta = json.loads(text) if len(text) <= 2 * LARGEST_META else None
    except (ValueError, RecursionError) as error:
        where = f"line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else "too deep"
        raise InvalidMeta(f"It is no JSON ({where}).", fix="""Write an object, such as '{"pr": 12}'.""") from None
    if len(text) > 2 * LARGEST_META:
        raise InvalidMeta(f"It has {len(text)} characters.", fix=f"Keep it within {LARGEST_META} bytes.")
    if not isinstance(meta, dict):
        kind = "null" if meta is None else type(meta).__name__
        raise InvalidMeta(f"It is JSON, but {kind} and no object.", fix="""Write an object, such as '{"pr": 12}'.""")
    if reason := value_flaw(meta):
        raise InvalidMeta(f"In it, {reason}.", fix="Leave that out.")
    if reason := meta_flaw(meta):
        raise InvalidMeta(f"It {reason}.", fix=f"Keep it within {LARGEST_META} bytes.")
    return cast("dict[str, object]", meta)
