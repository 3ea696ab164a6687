"""How many trials a submission has to add, and which failed ones they replace. Pure.

A submission declares how many trials of a unit shall exist. Queued, running, retrying and successful ones count; only
the shortfall is created, and each new trial takes the place of one that failed or was skipped, the oldest first. A
submission that names its environment counts the trials of that environment only; failed and skipped ones are replaced
whatever environment they had.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

COUNTING = frozenset({"queued", "running", "retrying", "success"})


@dataclass(frozen=True)
class Wanted:
    unit_hash: bytes
    environment: str | None
    """The environment whose trials count; None when the caller left the choice to the server."""
    count: int


@dataclass(frozen=True)
class Live:
    """A trial that nothing has replaced."""

    id: str
    unit_hash: bytes
    environment: str
    status: str


@dataclass(frozen=True)
class Addition:
    wanted: int
    """Index of the ``Wanted`` that this trial is created for."""
    replaces: str | None
    """Id of the failed or skipped trial that it supersedes."""


def plan(wanted: Sequence[Wanted], live: Iterable[Live]) -> list[Addition]:
    """The trials to create, in the order of ``wanted``. ``live`` is in the order of creation.

    No trial satisfies or is replaced for two of ``wanted``; those that name an environment choose first.
    """
    available = list(live)
    missing = [0] * len(wanted)
    for index in sorted(range(len(wanted)), key=lambda index: wanted[index].environment is None):
        satisfying = [trial for trial in available if _satisfies(trial, wanted[index])][: wanted[index].count]
        missing[index] = wanted[index].count - len(satisfying)
        available = [trial for trial in available if trial not in satisfying]
    failed = [trial for trial in available if trial.status not in COUNTING]
    additions = []
    for index, count in enumerate(missing):
        replaceable = [trial for trial in failed if trial.unit_hash == wanted[index].unit_hash][:count]
        failed = [trial for trial in failed if trial not in replaceable]
        additions += [Addition(index, trial.id) for trial in replaceable]
        additions += [Addition(index, None)] * (count - len(replaceable))
    return additions


def all_anew(wanted: Sequence[Wanted]) -> list[Addition]:
    """The trials to create where nothing that is there counts."""
    return [Addition(index, None) for index, entry in enumerate(wanted) for _ in range(entry.count)]


def _satisfies(trial: Live, wanted: Wanted) -> bool:
    return (
        trial.unit_hash == wanted.unit_hash
        and trial.status in COUNTING
        and wanted.environment in (None, trial.environment)
    )
