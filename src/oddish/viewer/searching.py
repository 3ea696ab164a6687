"""A text is found in a trace, wherever a reader would see it. Letters match whatever their case."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from oddish.viewer.contents import Text, calls, parts, returned, written
from oddish.viewer.conversations import speaker
from oddish.viewer.tracefiles import OpenTrace
from oddish.viewer.traces import Message

MOST_HITS = 200
"""Messages that are found at once; the search goes on after the last."""
LONGEST = 200
"""Characters that are looked for."""
_AROUND = 60
_PLAIN = re.compile(r"[A-Za-z0-9 _.:;,=+*()-]+")
"""What all who write JSON write as it is."""
_OTHER = re.compile(r"[^\x00-\x7f]+")


@dataclass(frozen=True, slots=True)
class Hit:
    """A message and the first place in it: ``found`` between what is before and after, in one line."""

    number: int
    before: str
    found: str
    after: str
    count: int
    """Places in the message."""


@dataclass(frozen=True, slots=True)
class Hits:
    hits: tuple[Hit, ...]
    goes_on: int | None = None
    """Message to look further from; None when the trace was looked through to its end."""


def search(trace: OpenTrace, wanted: str, start: int = 1) -> Hits:
    """Messages from number ``start``, in their order. Nothing is found of an empty text."""
    wanted = wanted.strip()[:LONGEST]
    if not wanted:
        return Hits(())
    pattern = re.compile(re.escape(wanted), re.IGNORECASE | (re.ASCII if wanted.isascii() else 0))
    found: list[Hit] = []
    for number in _candidates(trace, wanted, max(start, 1)):
        if len(found) == MOST_HITS:
            return Hits(tuple(found), number)
        if (hit := _hit(number, _visible(trace.read(number).message), pattern)) is not None:
            found.append(hit)
    return Hits(tuple(found))


def _candidates(trace: OpenTrace, wanted: str, start: int) -> Iterator[int]:
    """Messages in which it can be: most others are told apart without being parsed."""
    signs = _signs(wanted)
    for number in range(start, trace.total + 1):
        raw = trace.raw(number).lower()
        if any(sign in raw for sign in signs):
            yield number


def _signs(wanted: str) -> tuple[bytes, ...]:
    """Bytes of which a message with the text has one, however its JSON is written; in lower case."""
    if plain := max(_PLAIN.findall(wanted), key=len, default=""):
        return (plain.lower().encode(),)
    caseless = [run for run in _OTHER.findall(wanted) if run.lower() == run.upper()]
    if caseless:
        longest = max(caseless, key=len)
        return longest.encode(errors="replace"), json.dumps(longest)[1:-1].lower().encode()
    return (b"",)


def _visible(message: Message) -> str:
    said = [] if speaker(message.role) == "tool" else list(parts(message))
    answered = [part for found in returned(message, is_tool=speaker(message.role) == "tool") for part in found.parts]
    called = [f"{call.name or ''}\n{written(call.arguments)}" for call in calls(message)]
    return "\n".join([*(part.text for part in (*said, *answered) if isinstance(part, Text)), *called])


def _hit(number: int, visible: str, pattern: re.Pattern[str]) -> Hit | None:
    match = pattern.search(visible)
    if match is None:
        return None
    begin, end = match.span()
    before = ("…" if begin > _AROUND else "") + visible[max(begin - _AROUND, 0) : begin]
    after = visible[end : end + _AROUND] + ("…" if end + _AROUND < len(visible) else "")
    count = sum(1 for _ in pattern.finditer(visible))
    return Hit(number, _line(before), _line(match.group()), _line(after), count)


def _line(text: str) -> str:
    return re.sub(r"\s+", " ", text)
