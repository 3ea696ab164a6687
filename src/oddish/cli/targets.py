"""Which task on the server a trial that was run elsewhere belongs to."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from oddish.cli.jobs import JobTrial, TaskOfTrial
from oddish.cli.lookup import find_task, task_named
from oddish.cli.registration import Registration
from oddish.cli.text import command, joined, one_line, plural
from oddish.client import Client
from oddish.errors import InvalidInput
from oddish.tasks.discovery import is_task
from oddish.tasks.missing import no_task


class UnknownTasks(InvalidInput):
    """Trials of tasks that the server does not have and that are not at hand."""

    code = "unknown_tasks"


@dataclass(frozen=True)
class Target:
    task_id: str
    version: int | None = None
    """None: the current one."""


type Targets = Mapping[TaskOfTrial, Target]


def named_target(client: Client, reference: str, trials: Sequence[JobTrial]) -> tuple[Targets, str | None]:
    """All trials to the task of that id or name, and what to say if it is called otherwise than theirs.

    Raises ``NotFound``, and ``InvalidInput`` for trials of several tasks.
    """
    found = find_task(client, reference)
    if found is None:
        raise no_task(reference)
    task = found.task
    names = sorted({trial.task.name for trial in trials})
    if len(names) > 1:
        raise InvalidInput(
            f"These are trials of {len(names)} tasks ({joined(names)}), and --task names one.",
            fix="Name one job at a time, or give the directory of all the tasks with --path.",
        )
    target = Target(task["id"])
    remark = None if names == [task["name"]] else _remark(names[0], task["name"])
    return {trial.task: target for trial in trials}, remark


def _remark(theirs: str, ours: str) -> str:
    return f"Trials of {one_line(theirs)} are imported as {one_line(ours)}'s."


def registered_targets(
    trials: Iterable[JobTrial], registered: Sequence[Registration], declared: Callable[[Path], str | None]
) -> tuple[Targets, str | None]:
    """The tasks that were just registered, by name, and what to say where the only one is called otherwise than that
    of the trials.

    Raises ``UnknownTasks``.
    """
    of_trials = {trial.task for trial in trials}
    known: dict[str, Target] = {}
    for entry in registered:
        assert entry.version is not None  # noqa: S101
        target = Target(entry.version["task_id"], entry.version["version"])
        for name in (declared(entry.directory), entry.name):
            if name is not None:
                known[name] = target
    if len(registered) == 1 and len({task.name for task in of_trials}) == 1:
        (task,) = of_trials
        only = next(iter(known.values()))
        others = {task.name, task.declared}.isdisjoint(known)
        return dict.fromkeys(of_trials, only), _remark(task.name, registered[0].name) if others else None
    found = {task: known.get(task.name) or known.get(task.declared or "") for task in of_trials}
    missing = sorted({task.name for task, target in found.items() if target is None})
    if missing:
        raise UnknownTasks(
            f"There are trials of {joined(missing)}, and no task of that name in --path.",
            fix="Name a directory with all of their tasks.",
        )
    return {task: target for task, target in found.items() if target is not None}, None


def found_targets(
    client: Client, trials: Sequence[JobTrial], register: Callable[[Sequence[Path]], Sequence[Registration]]
) -> Targets:
    """Tasks that the server has by name; others are registered from where their job says that they are.

    Raises ``UnknownTasks`` before anything is registered.
    """
    examples = {trial.task: trial for trial in trials}
    by_name = {name: task_named(client, name) for name in sorted({task.name for task in examples})}
    targets = {task: Target(found["id"]) for task in examples if (found := by_name[task.name]) is not None}
    local: dict[TaskOfTrial, Path] = {}
    for task in examples.keys() - targets.keys():
        if (directory := _at_hand(task, examples[task])) is not None:
            local[task] = directory
    missing = sorted(examples.keys() - targets.keys() - local.keys(), key=lambda task: task.name)
    if missing:
        raise _unknown(missing, trials)
    directories = sorted(set(local.values()))
    made = {entry.directory: entry for entry in register(directories)}
    for task, directory in local.items():
        version = made[directory].version
        assert version is not None  # noqa: S101
        targets[task] = Target(version["task_id"], version["version"])
    return targets


def _at_hand(task: TaskOfTrial, trial: JobTrial) -> Path | None:
    """The directory that the job names, also relative to where the job was run, if it is that of a task."""
    if task.path is None:
        return None
    job = trial.directory.parent
    for base in (Path.cwd(), job.parent.parent):
        if is_task(base / task.path):
            return (base / task.path).resolve()
    return None


def _unknown(missing: Sequence[TaskOfTrial], trials: Sequence[JobTrial]) -> UnknownTasks:
    names = sorted({task.name for task in missing})
    count = sum(trial.task in missing for trial in trials)
    places = [task.path for task in missing if task.path is not None]
    where = f" and {places[0]}, which its job names, is not here" if len(names) == 1 and places else ""
    example = command("upload", "JOBS", "--path", "TASK")
    return UnknownTasks(
        f"The server has no task {joined(names)} (of {plural(count, 'trial')}){where}.",
        fix=f"Give the task, or the directory of all of them, with --path, as in: {example}\n"
        "  If the server has it by another name, give its id with --task.",
    )
