"""A text is found in a trace, wherever a reader would see it. Letters match whatever their case."""

import re
from dataclasses import dataclass

from oddish.viewer.contents import Text, calls, parts, returned, written
from oddish.viewer.conversations import speaker
from oddish.viewer.spellings import Spellings
from oddish.viewer.tracefiles import OpenTrace
from oddish.viewer.traces import Message

MOST_HITS = 200
"""Messages that are found at once; the search goes on after the last."""
MOST_BYTES = 12 * 1024 * 1024
"""Of messages that have to be parsed at once; of a text in most of them that is reached before the hits are."""
LONGEST = 200
"""Characters that are looked for."""
_AROUND = 60


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
    spellings, left = Spellings(wanted), MOST_BYTES
    found: list[Hit] = []
    for number in range(max(start, 1), trace.total + 1):
        if not spellings.may_be_in(trace.raw(number)):
            continue
        if len(found) == MOST_HITS or left <= 0:
            return Hits(tuple(found), number)
        left -= trace.size(number)
        if (hit := _hit(number, _visible(trace.read(number).message), pattern)) is not None:
            found.append(hit)
    return Hits(tuple(found))


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
