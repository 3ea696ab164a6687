"""What a pull came to."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

type Kind = Literal["trial", "task", "experiment"]


@dataclass
class TrialReport:
    trial_id: str
    status: str
    attempt: int | None = None
    """The one whose files these are."""
    other_attempts: list[int] = field(default_factory=list)
    """Those that left files too, which are not here."""
    logs_saved: bool = False
    files_saved: int = 0
    files_skipped: int = 0
    """They were here already."""
    bytes_saved: int = 0
    note: str | None = None
    errors: list[str] = field(default_factory=list)


@dataclass
class TaskReport:
    task_id: str
    status: str | None
    experiment_id: str | None
    version: int | None
    task_files_saved: bool = False
    task_files_skipped: bool = False
    """They were here already."""
    errors: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Manifest:
    """``pulled_at`` is in ISO 8601, ``out`` the folder."""

    target_type: Kind
    target_id: str
    pulled_at: str
    out: str
    trials: Sequence[TrialReport]
    tasks: Sequence[TaskReport]

    @property
    def errors(self) -> list[str]:
        return [f"{trial.trial_id}: {error}" for trial in self.trials for error in trial.errors] + [
            f"{task.task_id}: {error}" for task in self.tasks for error in task.errors
        ]

    @property
    def document(self) -> dict[str, Any]:
        return asdict(self) | {"errors": self.errors}
