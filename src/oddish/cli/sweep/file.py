"""Reading a file that says what to run."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from oddish.cli.sweep import harborjob, keys
from oddish.cli.sweep.document import Document, read_document
from oddish.cli.sweep.shapes import Flaw, Members, flaws, spelled
from oddish.cli.sweep.sweep import Sweep
from oddish.cli.text import one_line
from oddish.client.types import JSON
from oddish.tasks.plainyaml import Unreadable

TOLD = 10


class UnusableFile(Exception):
    """A file that says nothing, or what cannot be done. The message has a line for each reason."""


@dataclass(frozen=True)
class Format:
    shape: Members
    elsewhere: Mapping[str, Collection[str]]
    contradictions: Callable[[Mapping[str, JSON]], Iterable[Flaw]]
    read: Callable[[Mapping[str, JSON]], Sweep]


SWEEP = Format(keys.SWEEP, keys.ELSEWHERE, keys.contradictions, keys.read_sweep)
JOB = Format(harborjob.JOB, harborjob.ELSEWHERE, harborjob.contradictions, harborjob.read_job)


def read_file(path: Path) -> Sweep:
    """What the file asks for. Raises ``UnusableFile`` naming every key that is wrong, with its line in YAML."""
    name = one_line(path)
    try:
        document = read_document(path)
    except Unreadable as error:
        raise UnusableFile(f"{name} {error}.") from None
    sign = job_sign(document.values)
    form = SWEEP if sign is None else JOB
    wrong = list(flaws(document.values, form.shape, form.elsewhere))
    wrong = wrong or list(form.contradictions(document.values))
    if wrong:
        raise UnusableFile("\n".join(chain(_told(name, document, wrong), _reading(sign))))
    return form.read(document.values)


def job_sign(values: Mapping[str, JSON]) -> str | None:
    """The key that makes the file a job of Harbor; None of a sweep."""
    if any(name in keys.SWEEP.of and name not in harborjob.JOB.of for name in values):
        return None
    for name, value in values.items():
        if name in harborjob.JOB.of and (
            name not in keys.SWEEP.of or (name == "environment" and isinstance(value, dict))
        ):
            return name
    return None


def _told(name: str, document: Document, wrong: list[Flaw]) -> Iterable[str]:
    for flaw in wrong[:TOLD]:
        line = document.line(flaw.place)
        where = name if line is None else f"{name}, line {line}"
        yield f"{where}: {spelled(flaw.place)} {flaw.reason}. {flaw.fix}".strip()
    if len(wrong) > TOLD:
        yield f"and {len(wrong) - TOLD} more"


def _reading(sign: str | None) -> Iterable[str]:
    if sign is not None:
        yield f"It was read as a job of Harbor, for it has the key {sign}."
