"""Turning values from a server or a task into text that is safe and short enough for a terminal."""

import json
import re
import shlex
import sys
from collections.abc import Iterable
from datetime import UTC, datetime

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_ESCAPE_SEQUENCE = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)?"
)


def clean(value: object) -> str:
    """``value`` as text that does nothing to a terminal: no escape sequences, controls, direction marks, surrogates."""
    return _UNSAFE.sub("", _ESCAPE_SEQUENCE.sub("", str(value)))


def json_text(document: object, indent: int | None = None) -> str:
    """``document`` as JSON; what ``clean`` takes out of a text is written as an escape sequence of JSON."""
    return _UNSAFE.sub(_escaped, json.dumps(document, indent=indent, ensure_ascii=False))


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def command(*words: str) -> str:
    """A command line that can be pasted into a shell."""
    return clean(shlex.join(["oddish", *words]))


def quoted(word: str) -> str:
    """A word of such a command line."""
    return clean(shlex.quote(word))


def one_line(value: object, limit: int = 200) -> str:
    """``clean`` text on one line, cut at ``limit`` characters."""
    text = " ".join(clean(value).split())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def brief(value: object, limit: int = 200) -> str:
    """``clean`` text on one line; of a longer one its beginning and its end, which is where most errors say why."""
    text = one_line(value, sys.maxsize)
    if len(text) <= limit:
        return text
    head = limit // 3
    return f"{text[:head].rstrip()} … {text[head + 3 - limit :].lstrip()}"


def number(value: float | None) -> str:
    """At most three decimals; three digits and an exponent where that would show nothing, or a page of them."""
    if value is None:
        return "–"
    if value == 0 or 0.001 <= abs(value) < 1_000_000:
        return f"{abs(value) if value == 0 else value:.3f}".rstrip("0").rstrip(".")
    return f"{value:.3g}"


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def duration(seconds: float) -> str:
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    if whole < 2 * 86_400:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
    return f"{whole // 86_400}d"


def moment(value: str | None) -> datetime | None:
    """A timestamp of the server; without an offset it is UTC."""
    if not value:
        return None
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def age(value: str | None, now: datetime | None = None) -> str:
    then = moment(value)
    return "–" if then is None else f"{duration(((now or datetime.now(UTC)) - then).total_seconds())} ago"


def between(start: str | None, end: str | None, now: datetime | None = None) -> str:
    """How long something ran, or has been running."""
    began = moment(start)
    if began is None:
        return "–"
    return duration(((moment(end) or now or datetime.now(UTC)) - began).total_seconds())


def joined(values: Iterable[str], limit: int = 10) -> str:
    """Up to ``limit`` values, and how many more there are."""
    everything = list(values)
    shown = ", ".join(everything[:limit])
    return shown if len(everything) <= limit else f"{shown} and {len(everything) - limit} more"
