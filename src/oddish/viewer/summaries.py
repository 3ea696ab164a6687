"""``summary.json``: the tasks of a dataset and what came of the attempts at them. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from operator import attrgetter, itemgetter, lt
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from oddish.documents import COUNT_LIMIT
from oddish.outcome import PASS
from oddish.viewer.fields import Fields, shown, without_nothing
from oddish.viewer.findings import Notes

SEPARATOR = "|"
MOST_ATTEMPTS = 10_000
"""Of one cell."""

type Axis = Literal["model", "harness"]

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Attempt(NamedTuple):
    """Of which there may be hundreds of thousands."""

    attempt: int
    """From 1."""
    reward: float | None
    """None: the verifier never ran, which is not a zero."""
    n_turns: int | None = None
    elapsed_sec: float | None = None
    trace: str | None = None
    """A path from the directory of the dataset."""
    extra: Mapping[str, Any] = _NOTHING


_NAMES = Attempt._fields[:-1]
_MEMBERS = itemgetter(*_NAMES)


@dataclass(frozen=True, slots=True)
class Cell:
    """One model in one harness at one task."""

    model: str
    harness: str
    """Empty where the key of the cell names none."""
    passed_at: int | None
    """Number of the first attempt that passed. The attempts need not all be listed."""
    attempts: tuple[Attempt, ...] = ()
    """By number."""
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return f"{self.model}{SEPARATOR}{self.harness}" if self.harness else self.model


@dataclass(frozen=True, slots=True)
class Task:
    id: str
    cells: tuple[Cell, ...] = ()
    index: int | None = None
    difficulty_level: float | None = None
    difficulty: str | None = None
    question: str | None = None
    answer: str | None = None
    reward_mode: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Summary:
    k_max: int
    models: tuple[str, ...]
    """In the order of the columns, like ``harnesses``; those of the cells are all among them."""
    harnesses: tuple[str, ...]
    tasks: tuple[Task, ...]
    stored: Mapping[str, Any] = field(default_factory=dict)
    """Counts as the file has them; those that are shown are made of the tasks, like ``stored_by``."""
    stored_by: Mapping[Axis, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def cells(self) -> Iterator[Cell]:
        return (cell for task in self.tasks for cell in task.cells)


def read_summary(document: Mapping[str, Any], notes: Notes) -> Summary:
    fields = Fields(document, "", notes)
    k_max = fields.count("k_max", least=1, most=MOST_ATTEMPTS)
    tasks = tuple(_read_task(place, item, notes) for place, item in fields.objects("tasks"))
    _note_repeated(tasks, notes)
    cells = [cell for task in tasks for cell in task.cells]
    highest = max(
        (number for cell in cells for number in (cell.passed_at or 1, *(last.attempt for last in cell.attempts[-1:]))),
        default=1,
    )
    if k_max is None:
        notes.warning("k_max", f"is not known and taken to be {highest}, the highest number of an attempt.")
    elif highest > k_max:
        notes.warning("k_max", f"is {k_max}, and there is an attempt {highest}.")
    return Summary(
        k_max=highest if k_max is None else k_max,
        models=_columns("models", fields, (cell.model for cell in cells), notes),
        harnesses=_columns("harnesses", fields, (cell.harness for cell in cells), notes),
        tasks=tasks,
        stored=fields.members("summary"),
        stored_by={
            "model": tuple(row for _, row in fields.objects("by_model")),
            "harness": tuple(row for _, row in fields.objects("by_harness")),
        },
        extra=fields.rest,
    )


def _read_task(place: str, item: Mapping[str, Any], notes: Notes) -> Task:
    fields = Fields(item, place, notes)
    identity = fields.text("id")
    if not identity:
        notes.warning(place, "has no id and is called by its place.")
    return Task(
        id=identity or place,
        cells=tuple(
            cell
            for key, entry in fields.members("cells").items()
            if (cell := _read_cell(f"{place}.cells[{shown(key)}]", key, entry, notes)) is not None
        ),
        index=fields.count("index"),
        difficulty_level=fields.number("difficulty_level"),
        difficulty=fields.text("difficulty"),
        question=fields.text("question"),
        answer=fields.text("answer"),
        reward_mode=fields.text("reward_mode"),
        extra=fields.rest,
    )


def _read_cell(place: str, key: str, entry: object, notes: Notes) -> Cell | None:
    if not isinstance(entry, dict):
        notes.error(place, f"is {shown(entry)}, not an object, and is left out.")
        return None
    model, separator, harness = key.rpartition(SEPARATOR)
    if not (separator and model and harness):
        notes.error(place, "has a key that does not name a model and a harness.", 'Call it "MODEL|HARNESS".')
        model, harness = key, ""
    fields = Fields(entry, place, notes)
    derives = "passed_at" not in entry
    stored = fields.count("passed_at", least=1, most=MOST_ATTEMPTS)
    attempts = _read_attempts(fields, notes)
    numbers, rewards = [attempt.attempt for attempt in attempts], [attempt.reward for attempt in attempts]
    first = numbers[rewards.index(PASS)] if PASS in rewards else None
    if derives:
        notes.warning(place, f"has no passed_at; by its attempts it is {shown(first)}.")
    elif first is not None and (stored is None or first < stored):
        notes.warning(place, f"has passed_at {shown(stored)}, and attempt {first} passed.")
    elif any(number == stored and reward != PASS for number, reward in zip(numbers, rewards, strict=True)):
        notes.warning(place, f"has passed_at {stored}, and attempt {stored} did not pass.")
    return Cell(model, harness, first if derives else stored, attempts, fields.rest)


def _read_attempts(fields: Fields, notes: Notes) -> tuple[Attempt, ...]:
    items = fields.items("attempts")
    plain = [*map(_plain_attempt, items)]
    found = [attempt for attempt in plain if attempt is not None]
    if len(found) < len(plain):
        found = [
            _read_attempt(place, item, position, notes)
            for position, (place, item) in enumerate(fields.objects_in("attempts", items), start=1)
        ]
    numbers = [attempt.attempt for attempt in found]
    if all(map(lt, numbers, numbers[1:])):
        return tuple(found)
    if len(set(numbers)) < len(numbers):
        notes.warning(fields.place, "lists several attempts under one number.")
    if numbers != sorted(numbers):
        notes.warning(fields.place, "lists its attempts out of order.")
        found.sort(key=attrgetter("attempt"))
    return tuple(found)


def _plain_attempt(item: object) -> Attempt | None:
    """What ``_read_attempt`` makes of an attempt that it has nothing to say about; None for any other."""
    if type(item) is not dict:
        return None
    further = _NOTHING
    try:
        number, reward, turns, seconds, trace = _MEMBERS(item)
        if len(item) > len(_NAMES):
            further = _further(item)
    except KeyError:
        number, reward, turns, seconds, trace = map(item.get, _NAMES)
        further = _further(item)
    if type(reward) is int and -COUNT_LIMIT <= reward <= COUNT_LIMIT:
        reward = float(reward)
    if type(seconds) is int and -COUNT_LIMIT <= seconds <= COUNT_LIMIT:
        seconds = float(seconds)
    if (
        type(number) is int
        and 1 <= number <= MOST_ATTEMPTS
        and (reward is None or (type(reward) is float and isfinite(reward)))
        and (turns is None or (type(turns) is int and 0 <= turns <= COUNT_LIMIT))
        and (seconds is None or (type(seconds) is float and isfinite(seconds)))
        and (trace is None or type(trace) is str)
    ):
        return tuple.__new__(Attempt, (number, reward, turns, seconds, trace, further))
    return None


def _further(item: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in item.items() if name not in _NAMES} or _NOTHING


def _read_attempt(place: str, item: Mapping[str, Any], position: int, notes: Notes) -> Attempt:
    fields = Fields(item, place, notes)
    number = fields.count("attempt", least=1, most=MOST_ATTEMPTS)
    if number is None:
        notes.warning(place, f"has no number and is taken for attempt {position}.")
    return Attempt(
        position if number is None else number,
        fields.number("reward"),
        fields.count("n_turns"),
        fields.number("elapsed_sec"),
        fields.text("trace"),
        fields.rest or _NOTHING,
    )


def _columns(name: str, fields: Fields, used: Iterable[str], notes: Notes) -> tuple[str, ...]:
    named = list(dict.fromkeys(fields.texts(name)))
    unnamed = [value for value in dict.fromkeys(used) if value and value not in named]
    for value in unnamed:
        notes.warning(name, f"does not list {shown(value)}, of which there are cells.")
    return (*named, *unnamed)


def _note_repeated(tasks: Iterable[Task], notes: Notes) -> None:
    seen: set[str] = set()
    for position, task in enumerate(tasks):
        if task.id in seen:
            notes.warning(f"tasks[{position}]", f"has the id {shown(task.id)} of an earlier task.")
        seen.add(task.id)


def tasks_document(tasks: Iterable[Task]) -> list[dict[str, Any]]:
    """The member ``tasks`` that ``read_summary`` reads as ``tasks``."""
    return [
        without_nothing(
            id=task.id,
            index=task.index,
            difficulty_level=task.difficulty_level,
            difficulty=task.difficulty,
            question=task.question,
            answer=task.answer,
            reward_mode=task.reward_mode,
        )
        | {"cells": {cell.key: _cell_document(cell) for cell in task.cells}}
        | dict(task.extra)
        for task in tasks
    ]


def _cell_document(cell: Cell) -> dict[str, Any]:
    attempts = [
        {"attempt": attempt.attempt, "reward": attempt.reward}
        | without_nothing(n_turns=attempt.n_turns, elapsed_sec=attempt.elapsed_sec, trace=attempt.trace)
        | dict(attempt.extra)
        for attempt in cell.attempts
    ]
    return {"passed_at": cell.passed_at, "attempts": attempts} | dict(cell.extra)
