"""The steps of a training run, kept by column: half a million of them fit into little memory. Pure."""

import math
import struct
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from operator import itemgetter
from typing import Any, NamedTuple, overload

from oddish.documents import Parse, finite_number
from oddish.viewer.fields import without_nothing
from oddish.viewer.findings import Notes
from oddish.viewer.parsing import STANDARD, Parser, Plain

LINE_LIMIT = 64 * 1024
MOST_OTHERS = 24
"""Numbers of which the contract does not speak and which have a column."""
MOST_KEPT = 100_000
"""Members that have no column and are kept with their steps."""
MOST_NAMES = 10_000
"""Of metrics without a column that are counted."""


class Step(NamedTuple):
    """One line of metrics; what is missing or no finite number is None."""

    step: float | None
    reward: float | None
    reward_std: float | None
    """Zero: every generation scored the same, and the step taught nothing."""
    loss: float | None
    ratio: float | None
    kl: float | None
    entropy: float | None
    n_rollouts: float | None
    n_unscorable: float | None
    wall_s: float | None
    """Seconds."""
    extra: Mapping[str, Any]


NAMES = Step._fields[:-1]
_NAMES = frozenset(NAMES)
_EXACT = 2.0**53
"""Below this a float is equal to every whole number."""


class Steps(Sequence[Step]):
    """In the order of the file."""

    __slots__ = ("_columns", "_kept", "_length", "_rest", "_without_column")

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self._columns = {name: array("d") for name in NAMES}
        self._rest: dict[int, dict[str, Any]] = {}
        self._kept = 0
        self._without_column: set[str] = set()
        self._length = 0
        for step in steps:
            self._append(step)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> list[Step]: ...
    def __getitem__(self, index: int | slice) -> Step | list[Step]:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        values = {name: column[index] for name, column in self._columns.items()}
        others = {name: value for name, value in values.items() if name not in _NAMES and not math.isnan(value)}
        known = [None if math.isnan(values[name]) else values[name] for name in NAMES]
        return Step._make([*known, others | self._rest.get(index % len(self), {})])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Steps) and len(self) == len(other) and all(map(Step.__eq__, self, other))

    __hash__ = None  # type: ignore[assignment]

    def column(self, name: str, begin: int = 0) -> "array[float]":
        """One value for each step from ``begin`` on, NaN where there is none; a copy."""
        return self._columns[name][begin:] if name in self._columns else _nothing(len(self) - begin)

    def names(self) -> list[str]:
        """Of the columns with a value: those of the contract in its order, then others by name."""
        there = [name for name, column in self._columns.items() if not all(map(math.isnan, column))]
        return [name for name in NAMES if name in there] + sorted(name for name in there if name not in _NAMES)

    @property
    def without_column(self) -> int:
        """Metrics beside the columns, as far as ``MOST_NAMES`` of them are told apart."""
        return len(self._without_column)

    def followed_by(self, other: "Steps") -> "Steps":
        """These and those, as a copy."""
        both = Steps()
        both._columns = {name: column[:] for name, column in self._columns.items()}
        both._rest, both._kept, both._length = dict(self._rest), self._kept, len(self)
        both._without_column = set(self._without_column)
        for step in other:
            both._append(step)
        return both

    def read(self, text: bytes, first: int, notes: Notes, parser: Parser = STANDARD) -> int:
        """Add those in the lines of ``text``, of which the first one has the number ``first``, and count the lines.

        The last one need not be ended. Those that are no steps are noted.
        """
        number = first
        for block in _blocks(text):
            if count := self._read_plain(block, parser):
                number += count
            else:
                lines = block.split(b"\n")
                for place, line in enumerate(lines, start=number):
                    if line.strip():
                        self._read_one(line, f"line {place}", notes, parser.parse)
                number += len(lines)
        return number - first

    def _read_plain(self, block: bytes, parser: Parser) -> int:
        """Add lines that are objects of finite numbers, and count them; none where one has to be looked at."""
        ends = block.count(b"\n")
        if len(block) > LINE_LIMIT or block.count(b"}\n{") != ends:
            return 0
        try:
            documents = parser.plain_lines(block)
            if len(documents) != ends + 1:
                return 0
            found = _by_name(documents)
            charted = self._with_column(sorted(found.keys() - _NAMES))
            columns = {name: _numbers(values) for name, values in found.items() if name in charted or name in _NAMES}
        except (ValueError, OverflowError, RecursionError):
            return 0
        if None in found.get("step", (None,)):
            return 0
        self._make(charted)
        for name, column in self._columns.items():
            column.extend(columns[name] if name in columns else _nothing(len(documents)))
        if rest := found.keys() - charted - _NAMES:
            for position, document in enumerate(documents, start=self._length):
                self._keep(position, document, rest)
        self._length += len(documents)
        return len(documents)

    def _read_one(self, line: bytes, place: str, notes: Notes, parse: Parse) -> None:
        if len(line) > LINE_LIMIT:
            notes.warning(place, f"has {len(line)} bytes, more than {LINE_LIMIT}, and is left out.")
            return
        try:
            document = parse(line)
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            notes.warning(place, "is no JSON object and is left out.")
            return
        values = [finite_number(document.get(name)) for name in NAMES]
        if values[0] is None:
            notes.warning(place, "has no step.")
        for name, value in zip(NAMES, values, strict=True):
            if value is None and document.get(name) is not None:
                notes.warning(f"{place}.{name}", "is no finite number and is left out.")
        self._append(Step._make([*values, {name: document[name] for name in document.keys() - _NAMES}]))

    def _append(self, step: Step) -> None:
        numbers = {
            name: number
            for name, value in step.extra.items()
            if (number := finite_number(value)) is not None and number == value
        }
        charted = self._with_column(sorted(numbers))
        self._make(charted)
        self._keep(len(self), step.extra, step.extra.keys() - charted)
        values = dict(zip(NAMES, step[:-1], strict=True)) | {name: numbers[name] for name in charted}
        for name, column in self._columns.items():
            value = values.get(name)
            column.append(math.nan if value is None else value)
        self._length += 1

    def _with_column(self, names: Sequence[str]) -> set[str]:
        """Those that have a column, and of the others the first ones for which there is still room."""
        room = len(NAMES) + MOST_OTHERS - len(self._columns)
        there = [name for name in names if name in self._columns]
        return {*there, *[name for name in names if name not in self._columns][:room]} if room else set(there)

    def _make(self, names: Iterable[str]) -> None:
        for name in sorted(set(names).difference(self._columns)):
            self._columns[name] = _nothing(len(self))

    def _keep(self, position: int, members: Mapping[str, Any], names: Set[str]) -> None:
        """Members of a step with these names, which have no column, as long as they are not too many."""
        if self._kept < MOST_KEPT and (rest := {name: members[name] for name in members.keys() & names}):
            self._rest[position] = rest
            self._kept += len(rest)
        for name in names - self._without_column:
            if len(self._without_column) < MOST_NAMES and finite_number(members.get(name)) is not None:
                self._without_column.add(name)


def _blocks(text: bytes) -> Iterator[bytes]:
    """Whole lines, as many as ``LINE_LIMIT`` holds; a longer one alone. Without the ends of their last ones."""
    begin = 0
    while begin < len(text):
        end = text.rfind(b"\n", begin, begin + LINE_LIMIT + 1)
        end = text.find(b"\n", begin) if end < 0 else end
        end = len(text) if end < 0 else end
        yield text[begin:end]
        begin = end + 1


def _by_name(documents: Sequence[Plain]) -> dict[str, Sequence[Any]]:
    """One value for each document, None where it has none."""
    names = list(documents[0])
    if len(names) > 1 and sum(map(len, documents)) == len(names) * len(documents):
        with suppress(KeyError):
            return dict(zip(names, zip(*map(itemgetter(*names), documents), strict=True), strict=True))
    every = sorted(set[str]().union(*documents))
    return {name: [document.get(name) for document in documents] for name in every}


def _numbers(values: Sequence[Any]) -> "array[float]":
    """Of numbers and nulls, which are NaN. Raises ``ValueError`` and ``OverflowError`` unless a float is equal to each.

    Norm and bytes take a fifth of the time that comparing and converting one by one takes.
    """
    try:
        norm = math.hypot(*values)
    except TypeError:
        norm = math.hypot(*(value for value in values if value is not None))
        values = [math.nan if value is None else value for value in values]
    if not norm < _EXACT:
        raise ValueError("not finite, or so large that a float may not be equal")
    column = array("d")
    column.frombytes(struct.pack(f"{len(values)}d", *values))
    return column


def _nothing(length: int) -> "array[float]":
    return array("d", [math.nan]) * length


def step_document(step: Step) -> dict[str, Any]:
    """What is read as ``step``."""
    return without_nothing(**step._asdict() | {"extra": None}) | dict(step.extra)
