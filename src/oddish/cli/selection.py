"""Which task directories a command is about."""

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import click

from oddish.cli.sweep.sweep import Source
from oddish.cli.text import joined, plural
from oddish.errors import InvalidInput, InvalidTask, OddishError
from oddish.tasks.definition import TaskDefinition, load_task
from oddish.tasks.discovery import discover
from oddish.tasks.package import PublishedFile, publish_set
from oddish.tasks.timeouts import check_timeouts

type Look = Callable[[TaskDefinition, Sequence[PublishedFile]], None]


def select_tasks(
    sources: Sequence[Source],
    *,
    limit: int | None = None,
    look: Look = lambda task, published: None,
) -> list[Path]:
    """The tasks of ``sources`` that pass their filters, each checked completely before anything is sent.

    ``limit`` is about all of them together. ``look`` is given each that is sound enough to be sent, and the files that
    are. Raises ``click.UsageError`` when there are none of a source.
    """
    chosen = [task for source in sources for task in _tasks_of(source)]
    tasks = list({task.resolve(): task for task in chosen}.values())[:limit]
    _check(tasks, look)
    return tasks


def _tasks_of(source: Source) -> list[Path]:
    try:
        found = discover(source.path)
    except OddishError as error:
        raise click.UsageError(str(error)) from error
    chosen = _filtered(found, source.include, source.exclude)
    if not chosen:
        filters = " ".join([f"-t {pattern}" for pattern in source.include] + [f"-x {p}" for p in source.exclude])
        if len(found) == 1:
            raise click.UsageError(f"The only task of {source.path}, {_name(found[0])}, does not pass {filters}.")
        raise click.UsageError(
            f"None of the {len(found)} tasks in {source.path} passes {filters}. "
            f"The tasks are {joined(map(_name, found))}."
        )
    return chosen[: source.limit]


def _filtered(tasks: Sequence[Path], include: Sequence[str], exclude: Sequence[str]) -> list[Path]:
    return [
        task
        for task in tasks
        if (not include or any(fnmatchcase(_name(task), pattern) for pattern in include))
        and not any(fnmatchcase(_name(task), pattern) for pattern in exclude)
    ]


def _check(tasks: Sequence[Path], look: Look) -> None:
    refusals: list[tuple[str, OddishError]] = []
    directories: dict[str, Path] = {}
    for task in tasks:
        try:
            definition = load_task(task)
            check_timeouts(definition.timeouts)
            look(definition, publish_set(task))
        except OddishError as error:
            refusals.append((_name(task), error))
            continue
        name = definition.name
        if name in directories:
            raise InvalidInput(
                f"{directories[name]} and {task} are both task {name}: versions of one task, not two tasks.",
                fix="Rename one of the directories, or leave it out with -x.",
            )
        directories[name] = task
    if len(refusals) > 1:
        raise InvalidInput(
            f"{len(refusals)} of {plural(len(tasks), 'task')} cannot run; nothing was sent.\n"
            + "\n".join(f"  {name}: {refusal}" for name, refusal in refusals[:10])
            + (f"\n  and {len(refusals) - 10} more" if len(refusals) > 10 else ""),
            fix="Correct them, or leave them out with -x.",
        )
    if refusals:
        name, refusal = refusals[0]
        raise InvalidTask(f"Task {name}: {refusal.message}", fix=refusal.fix)


def _name(task: Path) -> str:
    """Also of a path like ``.``"""
    return task.resolve().name
