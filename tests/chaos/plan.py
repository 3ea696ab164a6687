"""Which fault happens when, to what, and for how long: all of it drawn from one seed. Pure."""

import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

GAP_SECONDS = 3.5
"""Between two faults, on average. In ten minutes each kind comes eight times or more: some find nothing to hit."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A fault by name and the range of seconds for which it lasts; those of no duration are over at once."""

    name: str
    least: float = 0.0
    most: float = 0.0
    needs: str | None = None
    """What a machine must have for it: ``docker``, ``faketime`` or ``disks``; None: nothing."""


KINDS: Sequence[Kind] = (
    Kind("worker killed"),
    Kind("fork server killed"),
    Kind("child killed"),
    Kind("sandbox keeper killed"),
    Kind("API server killed"),
    Kind("PostgreSQL killed"),
    Kind("database backend killed"),
    Kind("Docker engine killed", 1.0, 3.0, needs="docker"),
    Kind("worker frozen past its lease", 13.0, 16.0),
    Kind("everything suspended past the lease", 13.0, 14.0),
    Kind("database connections dropped", 0.0, 4.0),
    Kind("commit whose answer is lost", 3.0, 6.0),
    Kind("disk of a worker full", 3.0, 8.0, needs="disks"),
    Kind("disk of the database full", 2.0, 5.0, needs="disks"),
    Kind("storage answers 5xx", 2.0, 6.0),
    Kind("storage is slow", 3.0, 8.0),
    Kind("storage loses answers", 2.0, 6.0),
    Kind("API answers are lost", 2.0, 6.0),
    Kind("clock of a worker jumps"),
    Kind("clock of the database jumps", needs="faketime"),
)
JUMP_SECONDS = 45.0
"""How far a clock is off at most, in either direction."""


@dataclass(frozen=True, slots=True)
class Fault:
    """``at``: seconds from the start. ``aim``, in [0, 1), chooses among what could be hit at that moment."""

    at: float
    kind: str
    lasts: float
    aim: float

    def chosen[Item](self, candidates: Sequence[Item]) -> Item | None:
        """The candidate that is hit; None when there is none."""
        return candidates[int(self.aim * len(candidates))] if candidates else None

    @property
    def jump(self) -> float:
        """Seconds by which a clock is off from now on."""
        return round((2 * self.aim - 1) * JUMP_SECONDS, 1)


def plan(seed: int, seconds: float, kinds: Iterable[Kind] = KINDS) -> tuple[Fault, ...]:
    """The faults of ``seconds``, in order: every kind before any comes again, at least one of each."""
    chosen = tuple(kinds)
    rng = random.Random(seed)
    count = max(len(chosen), math.ceil(seconds / GAP_SECONDS))
    turns: list[Kind] = []
    while len(turns) < count:
        turns += rng.sample(chosen, len(chosen))
    gap = seconds / count
    return tuple(
        Fault(
            at=round((number + rng.random()) * gap, 3),
            kind=kind.name,
            lasts=round(rng.uniform(kind.least, kind.most), 3),
            aim=rng.random(),
        )
        for number, kind in enumerate(turns[:count])
    )


def tally(faults: Iterable[Fault]) -> Counter[str]:
    """How often each kind comes."""
    return Counter(fault.kind for fault in faults)
