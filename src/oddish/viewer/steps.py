"""The steps of a training run, kept by column: half a million of them fit into little memory. Pure."""

import json
import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from types import NoneType
from typing import Any, NamedTuple, overload

from oddish.documents import finite_number
from oddish.viewer.fields import without_nothing
from oddish.viewer.findings import Notes

LINE_LIMIT = 64 * 1024
MOST_OTHERS = 24
"""Numbers of which the contract does not speak and which have a column."""
_BATCH = 500
"""Lines that are read together."""


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
_PLAIN = {float, int, NoneType}


class Steps(Sequence[Step]):
    """In the order of the file."""

    __slots__ = ("_columns", "_length", "_rest")

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self._columns = {name: array("d") for name in NAMES}
        self._rest: dict[int, dict[str, Any]] = {}
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

    def followed_by(self, other: "Steps") -> "Steps":
        """These and those, as a copy."""
        both = Steps()
        both._columns = {name: column[:] for name, column in self._columns.items()}
        both._rest, both._length = dict(self._rest), len(self)
        for step in other:
            both._append(step)
        return both

    def read(self, lines: Sequence[bytes], first: int, notes: Notes) -> None:
        """Add those in whole lines, of which the first one has the number ``first``; lines that are none are noted."""
        for begin in range(0, len(lines), _BATCH):
            batch = lines[begin : begin + _BATCH]
            if not self._read_plain(batch):
                for number, line in enumerate(batch, start=first + begin):
                    if line.strip():
                        self._read_one(line, f"line {number}", notes)

    def _read_plain(self, lines: Sequence[bytes]) -> bool:
        """Add lines that are objects of finite numbers; False, and nothing added, where one has to be looked at."""
        try:
            documents = _flat_objects(lines)
            columns = {
                name: _numbers([document.get(name) for document in documents])
                for name in dict.fromkeys([*NAMES, *sorted(set[str]().union(*documents))])
            }
        except (ValueError, OverflowError):
            return False
        if any(map(math.isnan, columns["step"])) or not all(map(self._has_column, columns)):
            return False
        for name, column in self._columns.items():
            column.extend(columns[name] if name in columns else _nothing(len(lines)))
        self._length += len(lines)
        return True

    def _read_one(self, line: bytes, place: str, notes: Notes) -> None:
        if len(line) > LINE_LIMIT:
            notes.warning(place, f"has {len(line)} bytes, more than {LINE_LIMIT}, and is left out.")
            return
        try:
            document = json.loads(line)
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
        values: dict[str, float | None] = dict(zip(NAMES, step[:-1], strict=True))
        rest = {}
        for name, value in step.extra.items():
            number = finite_number(value)
            if number is not None and number == value and self._has_column(name):
                values[name] = number
            else:
                rest[name] = value
        if rest:
            self._rest[len(self)] = rest
        for name, column in self._columns.items():
            value = values.get(name)
            column.append(math.nan if value is None else value)
        self._length += 1

    def _has_column(self, name: str) -> bool:
        """Whether there is one, made now if there may be more of them."""
        if name not in self._columns and len(self._columns) < len(NAMES) + MOST_OTHERS:
            self._columns[name] = _nothing(len(self))
        return name in self._columns


def _flat_objects(lines: Sequence[bytes]) -> list[dict[str, Any]]:
    """All lines at once, which is twice as fast. Raises ``ValueError`` unless each is an object without any in it."""
    text = b",\n".join(lines)
    edges = text[:1] + text[-1:], text.count(b"},\n{"), text.count(b"{")
    if edges != (b"{}", len(lines) - 1, len(lines)) or b"[" in text or max(map(len, lines)) > LINE_LIMIT:
        raise ValueError("not flat")
    documents: list[dict[str, Any]] = json.loads(b"[" + text + b"]")
    return documents


def _numbers(values: list[Any]) -> "array[float]":
    """Raises ``ValueError`` and ``OverflowError`` unless each is null or a finite number that a float is equal to."""
    kinds = set(map(type, values))
    if not kinds <= _PLAIN:
        raise ValueError("no numbers")
    there = [value for value in values if value is not None] if NoneType in kinds else values
    column = array("d", there)
    if not math.isfinite(sum(column)) or (int in kinds and column.tolist() != there):
        raise ValueError("not finite")
    return column if there is values else array("d", (math.nan if value is None else value for value in values))


def _nothing(length: int) -> "array[float]":
    return array("d", [math.nan]) * length


def step_document(step: Step) -> dict[str, Any]:
    """What is read as ``step``."""
    return without_nothing(**step._asdict() | {"extra": None}) | dict(step.extra)
