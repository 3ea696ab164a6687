"""Directories that Harbor's jobs leave: what kind a path is, and the trials in it, of whatever release."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click

from oddish.documents import mapping, read_bytes, read_object, text
from oddish.tasks.discovery import is_task
from oddish.tasks.structure import CONFIG_FILE

RESULT, CONFIG = "result.json", "config.json"
RESULT_LIMIT = 8 * 1024 * 1024
PARTS_OF_TRIAL = ("agent", "verifier", "steps", "trial.log")
MARKS_OF_JOB = {
    RESULT: frozenset({"n_total_trials", "stats"}),
    CONFIG: frozenset({"job_name", "jobs_dir", "n_attempts", "orchestrator"}),
}
MARKS_OF_TRIAL = frozenset({"trial_name", "agent_info", "verifier_result", "trials_dir"})

NAME_ONE = "Name a task, a directory of tasks, a Harbor job, or a directory of Harbor jobs."

type Kind = Literal["tasks", "jobs"]


@dataclass(frozen=True, slots=True)
class TaskOfTrial:
    """What a trial says of the task it ran."""

    name: str
    """As its directory was called."""
    declared: str | None = None
    """``organisation/name``."""
    path: str | None = None
    """On the machine that ran it; None for one from a repository or a registry."""


@dataclass(frozen=True, slots=True)
class JobTrial:
    """A trial that has ended."""

    job: str
    directory: Path
    external_id: str
    task: TaskOfTrial

    @property
    def name(self) -> str:
        return self.directory.name


@dataclass(frozen=True, slots=True)
class Unusable:
    """A trial that cannot be imported. ``unfinished``: it has no result and may still be running, or never will."""

    job: str
    name: str
    reason: str
    unfinished: bool


def kind_of(path: Path) -> Kind:
    """What ``path`` holds. Raises ``click.UsageError`` for what is neither."""
    if not path.exists():
        raise click.UsageError(f"{path} does not exist. {NAME_ONE}")
    if not path.is_dir():
        raise click.UsageError(f"{path} is a file. {NAME_ONE}")
    if is_task(path):
        return "tasks"
    place = path.resolve()
    if _is_trial(place) or _is_job(place):
        return "jobs"
    if any(is_task(child) for child in place.iterdir()):
        return "tasks"
    if any(map(_is_job, _directories(place))):
        return "jobs"
    raise click.UsageError(
        f"{path} is neither a task nor a Harbor job: it has no {CONFIG_FILE}, and neither it nor a directory in it "
        f"holds trials with a {RESULT}. {NAME_ONE}"
    )


def trials_below(path: Path) -> Iterator[JobTrial | Unusable]:
    """The trials of a job, of all jobs in a directory, or a single one, each read when it is asked for."""
    place = path.resolve()
    if _is_trial(place):
        yield _trial(place.parent.name, place)
        return
    jobs = [place] if _is_job(place) else [child for child in _directories(place) if _is_job(child)]
    for job in jobs:
        for directory in _directories(job):
            if _looks_like_trial(directory):
                yield _trial(job.name, directory)


def _trial(job: str, directory: Path) -> JobTrial | Unusable:
    document, problem = read_object(directory, RESULT, RESULT_LIMIT)
    if problem == "missing":
        return Unusable(job, directory.name, f"it has no {RESULT}: it was interrupted, or has not ended", True)
    if problem is not None:
        return Unusable(job, directory.name, f"its {RESULT} is {problem.replace('_', ' ')}", False)
    if not document.keys() & {*MARKS_OF_TRIAL, "config", "task_name"}:
        return Unusable(job, directory.name, f"its {RESULT} is no record of a trial", False)
    return JobTrial(job, directory, _identity(directory, document), _task(directory, document))


def _identity(directory: Path, document: Mapping[str, Any]) -> str:
    """The engine's own id; what else is the same for the same record, where an old release gave none."""
    if own := (text(document.get("id")) or "").strip()[:255]:
        return own
    content, _ = read_bytes(directory, RESULT, RESULT_LIMIT)
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _task(directory: Path, document: Mapping[str, Any]) -> TaskOfTrial:
    config = mapping(mapping(document.get("config")).get("task"))
    declared = text(document.get("task_name")) or text(config.get("name"))
    path = text(config.get("path"))
    name = Path(path).name if path else (declared or "").rpartition("/")[2]
    local = path if path and not text(config.get("git_url")) else None
    return TaskOfTrial(name or directory.name.partition("__")[0], declared, local)


def _directories(path: Path) -> list[Path]:
    """Not those that a link leads to, which would be met twice."""
    with os.scandir(path) as listing:
        entries = [entry.name for entry in listing if entry.is_dir(follow_symlinks=False)]
    return [path / name for name in sorted(entries) if not name.startswith(".")]


def _is_job(path: Path) -> bool:
    if any(_members(path, name) & marks for name, marks in MARKS_OF_JOB.items()):
        return True
    return not is_task(path) and any(map(_is_trial, _directories(path)))


def _is_trial(path: Path) -> bool:
    return any(_members(path, name) & MARKS_OF_TRIAL for name in (RESULT, CONFIG))


def _looks_like_trial(path: Path) -> bool:
    """In a job: also one that has left next to nothing."""
    return any((path / name).exists() for name in (RESULT, CONFIG, *PARTS_OF_TRIAL))


def _members(path: Path, name: str) -> set[str]:
    document, _ = read_object(path, name, RESULT_LIMIT)
    return set(document)
