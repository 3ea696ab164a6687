"""Trials that can be exported: of Harbor jobs on this machine, or of a server, whose files are copied first."""

from dataclasses import dataclass
from pathlib import Path

import click

from oddish.cli.jobs import JobTrial, Unusable, kind_of, trials_below
from oddish.cli.lookup import FoundTask, FoundTrial, find
from oddish.cli.pull import Fetch, default_directory, pulling
from oddish.cli.session import connect, resolve
from oddish.client.types import UNFINISHED
from oddish.errors import InvalidInput, Unavailable
from oddish.pull.names import single
from oddish.pull.trial import TRIALS
from oddish.tasks.discovery import is_task
from oddish.viewer.exporting import TrialDirectory
from oddish.viewer.taskfiles import TaskFiles
from oddish.viewer.trials import NO_MODEL

NOT_ENDED = "it has not ended"


@dataclass(frozen=True)
class Exportable:
    trials: list[TrialDirectory]
    left_out: list[tuple[str, str]]
    """Other trials, and why."""


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
    if isinstance(found, FoundTrial):
        names = {}
    else:
        names = {task["id"]: task["name"] for task in ([found.task] if isinstance(found, FoundTask) else found.tasks)}
    trials = found.snapshot().trials
    return Exportable(
        [
            TrialDirectory(
                job=directory.name,
                directory=directory / TRIALS / single(trial["id"]),
                task=TaskFiles(
                    names.get(trial["task_id"], trial["task_id"].rpartition("-")[0]),
                    _pulled_task(directory, single(trial["task_id"])),
                ),
                model=trial["model"] or NO_MODEL,
                harness=trial["agent"],
            )
            for trial in trials
            if trial["status"] not in UNFINISHED
        ],
        [(trial["id"], NOT_ENDED) for trial in trials if trial["status"] in UNFINISHED],
    )


def _pulled_task(directory: Path, task_id: str) -> Path:
    return directory / "tasks" / task_id / "files"
