"""Which task directories a command is about."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

import click

from oddish.cli.datasets import Dataset, fetch
from oddish.cli.output import LINE_EVERY, notice
from oddish.cli.sweep.sweep import Source
from oddish.cli.text import joined, one_line, plural
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
    are. Raises ``click.UsageError`` when there are none of a source, and for a dataset what ``fetch`` raises.
    """
    limited = [replace(source, limit=_least(source.limit, limit)) for source in sources]
    chosen = [task for source in limited for task in _tasks_of(source)]
    tasks = list({task.resolve(): task for task in chosen}.values())[:limit]
    _check(tasks, look)
    return tasks


def _least(*limits: int | None) -> int | None:
    return min((limit for limit in limits if limit is not None), default=None)


def _tasks_of(source: Source) -> list[Path]:
    if isinstance(source.tasks, Dataset):
        dataset = source.tasks

        def choose(names: Sequence[str]) -> Sequence[int]:
            chosen = _chosen(names, dataset.reference, source)
            notice(f"Dataset {dataset.reference}: {len(chosen)} of {plural(len(names), 'task')}")
            return chosen

        return fetch(dataset, choose, _counting())
    try:
        found = discover(source.tasks)
    except OddishError as error:
        raise click.UsageError(str(error)) from error
    names = [_name(task) for task in found]
    return [found[index] for index in _chosen(names, str(source.tasks), source)]


def _counting() -> Callable[[str], None]:
    """Says now and then how many tasks were fetched."""
    count, due = 0, time.monotonic() + LINE_EVERY

    def fetched(name: str) -> None:
        nonlocal count, due
        count += 1
        if time.monotonic() >= due:
            due = time.monotonic() + LINE_EVERY
            notice(f"{plural(count, 'task')} fetched, {one_line(name)} the last")

    return fetched


def _chosen(names: Sequence[str], where: str, source: Source) -> list[int]:
    """The places of those that pass the filters. Raises ``click.UsageError`` when none does."""
    chosen = [
        index
        for index, name in enumerate(names)
        if (not source.include or _matches(name, source.include)) and not _matches(name, source.exclude)
    ]
    if chosen:
        return chosen[: source.limit]
    filters = " ".join([f"-t {pattern}" for pattern in source.include] + [f"-x {p}" for p in source.exclude])
    if len(names) == 1:
        raise click.UsageError(f"The only task of {where}, {names[0]}, does not pass {filters}.")
    raise click.UsageError(
        f"None of the {len(names)} tasks in {where} passes {filters}. The tasks are {joined(names)}."
    )


def _matches(name: str, patterns: Sequence[str]) -> bool:
    """A task of an organisation also goes by its name alone."""
    return any(fnmatchcase(known, pattern) for known in (name, name.rpartition("/")[2]) for pattern in patterns)


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
