"""What is known when everything is over: rows, stored bytes, answers that clients were given, and what is left."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

ENDED = frozenset({"success", "failed"})
OVER = frozenset({"finished", "cancelled", "lost"})


@dataclass(frozen=True, slots=True)
class Digest:
    """Bytes and SHA-256 (hex) of a file."""

    size: int
    sha256: str


@dataclass(frozen=True)
class Promise:
    """What a submission was answered with. ``trial_ids`` is None when no answer ever came."""

    experiment: str
    work: str
    asked: int
    trial_ids: tuple[str, ...] | None


@dataclass(frozen=True)
class TrialRow:
    id: str
    experiment: str
    status: str
    stage: str | None
    attempts: int
    max_attempts: int
    decided_by: int | None
    reward: float | None
    error: str | None
    environment: str = "local"
    replaced_by: str | None = None
    """The trial of a repeated call that was made because this one had failed by then."""


@dataclass(frozen=True)
class AttemptRow:
    trial: str
    epoch: int
    worker: str
    state: str
    status: str | None
    prefix: str | None
    files: int | None
    bytes: int | None


@dataclass(frozen=True)
class Change:
    """An update of a trial's status (``epoch`` None) or an attempt's state, in the order in which they happened."""

    trial: str
    epoch: int | None
    before: str
    after: str


@dataclass(frozen=True)
class Heard:
    """A live event of an attempt."""

    attempt: str
    late: bool
    """It came after the end of its attempt."""


@dataclass(frozen=True)
class Stored:
    """What is below one recorded prefix: as its manifest says (None: it has none), and as it was read back."""

    listed: Mapping[str, Digest] | None
    found: Mapping[str, Digest]


@dataclass(frozen=True)
class Expectation:
    """What trials of one kind of work come to, unless something else ended them."""

    reward: float | None
    """Of a successful one; None when it cannot succeed."""
    artifacts: Mapping[str, Digest] = field(default_factory=dict)
    """By path below the attempt's prefix."""


@dataclass(frozen=True)
class Leftover:
    kind: str
    """sandbox, process, mount, cgroup, directory, container, network, volume."""
    name: str


@dataclass(frozen=True)
class Facts:
    promises: Sequence[Promise]
    expectations: Mapping[str, Expectation]
    cancels: Sequence[str]
    """Trials of which a client was told that they are cancelled."""
    trials: Sequence[TrialRow]
    attempts: Sequence[AttemptRow]
    changes: Sequence[Change]
    late: Sequence[str]
    """Trials that had not ended when they should have, though they may have been ended with their workers."""
    open_jobs: Sequence[str]
    """Jobs that have not ended even then."""
    drift: Sequence[str]
    """Counters that do not say what they count."""
    stored: Mapping[str, Stored]
    leftovers: Sequence[Leftover]
    events: Sequence[Heard] = ()
    defects: Sequence[str] = ()
    """Errors that servers and workers did not expect, by their logs."""
