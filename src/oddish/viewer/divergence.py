"""Two traces of one task: where they did the same, and where they went apart first. Pure.

Steps are messages without the results of tools. Two steps of an agent are the same action when they call the same tools
with the same arguments, or say the same without calling any; white space does not count. What may differ are the words
beside a call, results, and what is said to an agent: that is nothing it did.
"""

import hashlib
import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from oddish.viewer.alignment import align
from oddish.viewer.contents import Part, Text
from oddish.viewer.conversations import AROUND, Call, Entry, converse
from oddish.viewer.tracefiles import OpenTrace

MOST_MESSAGES = 2000
"""Of each trace that are compared."""
INSTRUCTING = frozenset({"system", "user"})

type Difference = Literal["none", "words", "result", "action"]
"""The first that holds: ``action``, else ``result``, else ``words``."""


@dataclass(frozen=True, slots=True)
class Step:
    number: int
    """Of its message."""
    action: bytes
    words: bytes
    results: bytes


@dataclass(frozen=True, slots=True)
class Row:
    """What is side by side; None where a side has nothing."""

    left: Step | None
    right: Step | None
    difference: Difference


@dataclass(frozen=True, slots=True)
class Comparison:
    rows: tuple[Row, ...]
    is_whole: bool
    """Whether both traces were compared to their ends."""

    def first(self, difference: Difference) -> int | None:
        """Position of the first such row."""
        return next((place for place, row in enumerate(self.rows) if row.difference == difference), None)


def compare(left: OpenTrace, right: OpenTrace) -> Comparison:
    """As far as ``MOST_MESSAGES`` of each."""
    rows = side_by_side(left.derived(_steps), right.derived(_steps))
    return Comparison(tuple(rows), max(left.total, right.total) <= MOST_MESSAGES)


def side_by_side(left: Sequence[Step], right: Sequence[Step]) -> list[Row]:
    """Steps that match in one row; those between them, which do not, one beside the other in their order."""
    rows: list[Row] = []
    one: list[Step] = []
    other: list[Step] = []
    for this, that in align([step.action for step in left], [step.action for step in right]):
        if this is not None and that is not None:
            rows += _apart(one, other)
            one, other = [], []
            rows.append(Row(left[this], right[that], _difference(left[this], right[that])))
        elif this is not None:
            one.append(left[this])
        elif that is not None:
            other.append(right[that])
    return rows + _apart(one, other)


def steps(entries: Iterable[Entry]) -> Iterator[Step]:
    """Each is made when its results were read, so that no long trace is held as a whole."""
    waiting: deque[Entry] = deque()
    for entry in entries:
        if entry.calls or entry.parts or any(answer.call is None for answer in entry.answers):
            waiting.append(entry)
        while waiting and waiting[0].number < entry.number - AROUND:
            yield _step(waiting.popleft())
    yield from map(_step, waiting)


def _steps(trace: OpenTrace) -> list[Step]:
    return list(steps(converse(map(trace.read, range(1, min(trace.total, MOST_MESSAGES) + 1)))))


def _apart(left: Sequence[Step], right: Sequence[Step]) -> list[Row]:
    longer = max(len(left), len(right))
    one = [*left, *[None] * (longer - len(left))]
    other = [*right, *[None] * (longer - len(right))]
    return [Row(this, that, "action") for this, that in zip(one, other, strict=True)]


def _difference(left: Step, right: Step) -> Difference:
    if left.results != right.results:
        return "result"
    return "words" if left.words != right.words else "none"


def _step(entry: Entry) -> Step:
    unknown = [part for answer in entry.answers if answer.call is None for part in answer.result.parts]
    words = _digest([entry.speaker, *map(_said, (*entry.parts, *unknown))])
    results = _digest([_said(part) for call in entry.calls for result in call.results for part in result.parts])
    is_words = not entry.calls and entry.speaker not in INSTRUCTING
    action = words if is_words else _digest([entry.speaker, *map(_asked, entry.calls)])
    return Step(entry.number, action, words, results)


def _asked(call: Call) -> str:
    return json.dumps([call.tool.name, _plain(call.tool.arguments)], sort_keys=True)


def _plain(value: object) -> object:
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _said(part: Part) -> str:
    return " ".join(part.text.split()) if isinstance(part, Text) else part.what


def _digest(texts: Iterable[str]) -> bytes:
    """Long texts are not kept."""
    return hashlib.blake2b("\0".join(texts).encode(errors="surrogatepass"), digest_size=16).digest()
