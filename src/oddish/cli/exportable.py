"""Trials that can be exported: of Harbor jobs on this machine, or of a server, whose files are copied first."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import click

from oddish.cli.differences import counted
from oddish.cli.jobs import JobTrial, Unusable, kind_of, trials_below
from oddish.cli.lookup import Found, FoundTask, FoundTrial, find
from oddish.cli.pull import Fetch, default_directory, pulling
from oddish.cli.session import connect, resolve
from oddish.cli.trials import finished, place
from oddish.client.types import Task, Trial
from oddish.errors import InvalidInput, Unavailable
from oddish.pull.names import single
from oddish.pull.trial import TRIALS
from oddish.tasks.discovery import is_task
from oddish.viewer.attempts import TrialDirectory
from oddish.viewer.policies import Entry
from oddish.viewer.taskfiles import TaskFiles
from oddish.viewer.trials import NO_MODEL

NOT_ENDED = "it has not ended"


@dataclass(frozen=True)
class Exportable:
    trials: list[TrialDirectory]
    left_out: list[tuple[str, str]]
    """Other trials, and why."""
    not_ended: list[Entry] = field(default_factory=list)
    """Those among them that ``oddish status`` counts."""


def exportable(source: str, api: str | None, *, quiet: bool) -> Exportable:
    """What ``source`` stands for: a path that is there, else an id or a name on the server.

    Raises ``InvalidInput`` when none of the trials has ended, ``Unavailable`` when a file could not be copied.
    """
    found = _of_jobs(Path(source)) if Path(source).exists() else _of_server(source, api, quiet=quiet)
    if not found.trials:
        raise InvalidInput(f"{source} holds no finished trial.", fix="Export it when some have ended.")
    return found


def _of_jobs(source: Path) -> Exportable:
    if kind_of(source) == "tasks":
        raise click.UsageError(f"{source} holds tasks, and no trials of a Harbor job.")
    found = list(trials_below(source))
    return Exportable(
        [_trial(source, entry) for entry in found if isinstance(entry, JobTrial)],
        [(f"{entry.job}/{entry.name}", entry.reason) for entry in found if isinstance(entry, Unusable)],
    )


def _trial(source: Path, entry: JobTrial) -> TrialDirectory:
    places = [_pulled_task(source, entry.name.rpartition("-")[0])]
    places += [Path(entry.task.path)] if entry.task.path else []
    return TrialDirectory(entry.job, entry.directory, TaskFiles(entry.task.name, next(filter(is_task, places), None)))


def _of_server(reference: str, api: str | None, *, quiet: bool) -> Exportable:
    with connect(resolve(api)) as client:
        found = find(client, reference)
        directory = default_directory(found)
        with pulling(client, directory, logs=False, files=True, structured=False, quiet=quiet) as pull:
            manifest = Fetch(client, pull, found, with_task_files=True).once()
    if manifest.errors:
        raise Unavailable(f"Not all files could be copied: {manifest.errors[0]}", fix="Run the command again.")
    names = {task["id"]: task["name"] for task in _tasks(found)}
    trials = found.snapshot().trials
    not_ended = [trial for trial in trials if not finished(trial)]
    return Exportable(
        [_copied(directory, trial, names) for trial in trials if finished(trial)],
        [(trial["id"], NOT_ENDED) for trial in not_ended],
        [_waited_for(trial, names) for trial in not_ended],
    )


def _tasks(found: Found) -> list[Task]:
    if isinstance(found, FoundTrial):
        return []
    return [found.task] if isinstance(found, FoundTask) else found.tasks


def _copied(directory: Path, trial: Trial, names: Mapping[str, str]) -> TrialDirectory:
    return TrialDirectory(
        job=directory.name,
        directory=directory / TRIALS / single(trial["id"]),
        task=TaskFiles(_task_name(trial, names), _pulled_task(directory, single(trial["task_id"]))),
        model=trial["model"] or NO_MODEL,
        harness=trial["agent"],
        status=counted(trial),
        place=place(trial),
    )


def _waited_for(trial: Trial, names: Mapping[str, str]) -> Entry:
    model = trial["model"] or NO_MODEL
    return Entry(trial["id"], _task_name(trial, names), model, trial["agent"], counted(trial), None, None, place(trial))


def _task_name(trial: Trial, names: Mapping[str, str]) -> str:
    return names.get(trial["task_id"], trial["task_id"].rpartition("-")[0])


def _pulled_task(directory: Path, task_id: str) -> Path:
    return directory / "tasks" / task_id / "files"
