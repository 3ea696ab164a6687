"""A trace as people read it: messages, and with each call of a tool what came back. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from oddish.viewer.contents import Part, Returned, Text, calls, parts, returned, written
from oddish.viewer.findings import Finding
from oddish.viewer.peeks import Edit, Kind, edits, kind, one_line, peek, script
from oddish.viewer.tracefiles import OpenTrace, Recorded
from oddish.viewer.traces import ToolCall

AROUND = 20
"""Messages before and after those that are shown, in which calls and results that belong to them are looked for."""
CHUNK_BYTES = 1024 * 1024
"""Of messages that are shown at once; one at least is."""

type Speaker = Literal["system", "user", "assistant", "tool", "other"]

_SPEAKERS: dict[str, Speaker] = {
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "agent", "ai", "model", "gpt", "bot"), "assistant"),
    **dict.fromkeys(("tool", "function", "observation", "environment", "ipython"), "tool"),
}


@dataclass(frozen=True, slots=True)
class Result:
    number: int
    """Of the message that it is in."""
    parts: tuple[Part, ...]
    is_error: bool = False
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """A result, and the call that it is of: the number of its message and the tool, where they are known."""

    result: Result
    call: int | None
    tool: str | None


@dataclass(slots=True)
class Call:
    """A call of a tool. Results are found as far as they are near."""

    tool: ToolCall
    kind: Kind
    peek: str
    results: list[Result] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.tool.name or "a tool without a name"

    @property
    def edits(self) -> tuple[Edit, ...]:
        return edits(self.tool)

    @property
    def script(self) -> str | None:
        """A command or program that does not fit into the peek."""
        return script(self.tool)

    @property
    def is_told(self) -> bool:
        """Whether the peek, or the script, says all that the arguments do."""
        arguments = self.tool.arguments
        only = list(arguments.values()) if isinstance(arguments, dict) else [arguments]
        texts = [value for value in only if value]
        return not texts or (
            len(texts) == 1 and isinstance(texts[0], str) and (self.script or self.peek) == texts[0].strip()
        )

    @property
    def arguments(self) -> str:
        return written(self.tool.arguments)


@dataclass(frozen=True, slots=True)
class Entry:
    """One message."""

    number: int
    role: str | None
    """As it is written."""
    speaker: Speaker
    parts: tuple[Part, ...]
    """What it says itself; of a tool nothing."""
    calls: tuple[Call, ...] = ()
    answers: tuple[Answer, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def peek(self) -> str:
        """One line."""
        if self.calls:
            return "; ".join(f"{call.name} {call.peek}".strip() for call in self.calls[:3])
        said = [*self.parts, *(part for answer in self.answers for part in answer.result.parts)]
        return next((one_line(part.text) for part in said if isinstance(part, Text)), "")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A run of messages, ``first`` to ``last``; none when ``last`` is less."""

    entries: tuple[Entry, ...]
    first: int
    last: int
    total: int


def excerpt(trace: OpenTrace, first: int, limit: int) -> Excerpt:
    """``limit`` messages from number ``first``, fewer large ones, and the results of the last calls."""
    total = trace.total
    first = min(max(first, 1), max(total, 1))
    last, room = first - 1, CHUNK_BYTES
    while last < total and last - first + 1 < limit and (room > trace.size(last + 1) or last < first):
        last += 1
        room -= trace.size(last)
    before = _within(trace, range(first - 1, max(first - 1 - AROUND, 0), -1))
    after = _within(trace, range(last + 1, min(last + AROUND, total) + 1))
    records = [trace.read(number) for number in (*reversed(before), *range(first, last + 1), *after)]
    entries, last = _shown(converse(records), first, last)
    return Excerpt(entries, first, last, total)


def converse(records: Iterable[Recorded]) -> Iterator[Entry]:
    """All of them; each result is in its own message and, once that was read, with its call if that is near."""
    return map(_Pairing().entry, records)


def entries(trace: OpenTrace, numbers: Iterable[int]) -> dict[int, Entry]:
    """Messages by their numbers, which are not far from each other, with the results of their calls."""
    wanted = frozenset(numbers)
    if not wanted:
        return {}
    last = min(max(wanted) + AROUND, trace.total)
    return {
        entry.number: entry
        for entry in converse(map(trace.read, range(min(wanted), last + 1)))
        if entry.number in wanted
    }


def speaker(role: str | None) -> Speaker:
    return _SPEAKERS.get((role or "").lower(), "other")


def _within(trace: OpenTrace, numbers: Iterable[int]) -> list[int]:
    """Those before the first that would make it too much."""
    found, room = [], CHUNK_BYTES
    for number in numbers:
        room -= trace.size(number)
        if room < 0:
            break
        found.append(number)
    return found


def _shown(entries: Iterable[Entry], first: int, last: int) -> tuple[tuple[Entry, ...], int]:
    """Those of the run without results that are with their calls, and where it ends with the results that follow."""
    shown: list[Entry] = []
    calling: set[int | None] = set()
    for entry in entries:
        elsewhere = tuple(answer for answer in entry.answers if answer.call not in calling)
        is_seen = bool(entry.answers) and not (elsewhere or entry.parts or entry.calls)
        if is_seen and entry.number == last + 1:
            last += 1
        elif first <= entry.number <= last:
            calling.add(entry.number)
            if not is_seen:
                shown.append(replace(entry, answers=elsewhere))
    return tuple(shown), last


class _Pairing:
    """Results find their calls: by id, else by order among the calls of the last message that has some."""

    def __init__(self) -> None:
        self._by_id: dict[str, tuple[int, Call]] = {}
        self._last: tuple[int, tuple[Call, ...]] = (0, ())

    def entry(self, record: Recorded) -> Entry:
        message = record.message
        who = speaker(message.role)
        is_tool = who == "tool"
        self._forget(record.number - AROUND)
        made = tuple(Call(tool, kind(tool), peek(tool)) for tool in calls(message))
        answers = tuple(self._answer(record, found) for found in returned(message, is_tool=is_tool))
        for call in made:
            if call.tool.id is not None:
                self._by_id.pop(call.tool.id, None)
                self._by_id[call.tool.id] = (record.number, call)
        if made:
            self._last = (record.number, made)
        said = () if is_tool else parts(message)
        return Entry(record.number, message.role, who, said, made, answers, record.findings)

    def _answer(self, record: Recorded, found: Returned) -> Answer:
        result = Result(record.number, found.parts, found.is_error, record.findings)
        number, call = self._call_of(found)
        if call is None:
            return Answer(result, None, found.name)
        call.results.append(result)
        return Answer(result, number, call.name)

    def _forget(self, number: int) -> None:
        """Calls before message ``number``."""
        while self._by_id and next(iter(self._by_id.values()))[0] < number:
            del self._by_id[next(iter(self._by_id))]

    def _call_of(self, found: Returned) -> tuple[int, Call | None]:
        if found.call is not None and found.call in self._by_id:
            return self._by_id[found.call]
        number, made = self._last
        open_calls = [
            call
            for call in made
            if not call.results
            and (found.call is None or call.tool.id is None)
            and (found.name is None or found.name == call.tool.name)
        ]
        return number, open_calls[0] if open_calls else None
