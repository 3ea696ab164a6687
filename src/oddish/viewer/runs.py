"""``run.json`` and ``train/metrics.jsonl``: a training run and its steps. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from oddish.documents import finite_number
from oddish.viewer.fields import Fields, without_nothing
from oddish.viewer.findings import Notes

LINE_LIMIT = 64 * 1024


@dataclass(frozen=True, slots=True)
class Run:
    label: str | None = None
    description: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


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


def read_run(document: Mapping[str, Any], notes: Notes) -> Run:
    fields = Fields(document, "", notes)
    return Run(fields.text("label"), fields.text("description"), fields.rest)


def run_document(run: Run) -> dict[str, Any]:
    """What ``read_run`` reads as ``run``."""
    return without_nothing(label=run.label, description=run.description) | dict(run.extra)


def read_steps(lines: Sequence[bytes], first: int, notes: Notes) -> list[Step]:
    """The steps in whole lines, of which the first one has the number ``first``; lines that are none are noted."""
    return [
        step
        for number, line in enumerate(lines, start=first)
        if line.strip() and (step := _read_step(line, f"line {number}", notes)) is not None
    ]


def _read_step(line: bytes, place: str, notes: Notes) -> Step | None:
    if len(line) > LINE_LIMIT:
        notes.warning(place, f"has {len(line)} bytes, more than {LINE_LIMIT}, and is left out.")
        return None
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        notes.warning(place, "is no JSON object and is left out.")
        return None
    values = [finite_number(document.get(name)) for name in NAMES]
    if values[0] is None:
        notes.warning(place, "has no step.")
    if None in values:
        for name, value in zip(NAMES, values, strict=True):
            if value is None and document.get(name) is not None:
                notes.warning(f"{place}.{name}", "is no finite number and is left out.")
    return Step._make([*values, {name: document[name] for name in document.keys() - _NAMES}])


def step_document(step: Step) -> dict[str, Any]:
    """What is read as ``step``."""
    return without_nothing(**step._asdict() | {"extra": None}) | dict(step.extra)
