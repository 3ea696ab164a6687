"""Options of ``oddish run`` about the tasks: directories to send, datasets, or one that the server has."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from oddish.cli.datasets import Dataset
from oddish.cli.gathering import gathered
from oddish.cli.sweep.sweep import NOTHING, Source, Sweep
from oddish.cli.task_filters import FILTER_OPTIONS
from oddish.cli.text import one_line

ADDRESS = re.compile("([a-z][a-z0-9+.-]+:)/+(.*)", re.IGNORECASE | re.DOTALL)
"""As it looks once it has been taken for a path, which has one slash where there were two."""
TASK_ID = re.compile(r"[^/]+-[0-9a-f]{8}")
FILTERS = {"include": "-t", "exclude": "-x", "n_tasks": "-l"}

TASK_OPTIONS = (
    click.argument("path", required=False, type=click.Path(path_type=Path)),
    click.option("-p", "--path", "path_option", metavar="PATH", type=click.Path(path_type=Path), help="Same as PATH."),
    click.option(
        "--task",
        metavar="TASK",
        help="Add trials to this task, by id or name, which the server has, as it is: nothing is sent.",
    ),
    *FILTER_OPTIONS,
)


@dataclass(frozen=True)
class Chosen:
    """Tasks to send, or one that is there, by id or name."""

    sources: Sequence[Source] = ()
    limit: int | None = None
    """Of the tasks of all sources together."""
    task: str | None = None


@dataclass(frozen=True)
class TaskChoices:
    path: Path | None = None
    path_option: Path | None = None
    task: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    n_tasks: int | None = None

    def chosen(self, dataset: Dataset | None, sweep: Sweep, on_command_line: Callable[[str], bool]) -> Chosen:
        """What is named on the command line, else what the file names. ``dataset`` is the one of ``-d``.

        ``on_command_line`` tells of a parameter whether it was given there, not in the file. Raises
        ``click.UsageError`` for two sources, for none, and for filters beside one task.
        """
        directory = self._directory()
        if directory is not None and dataset is not None:
            raise click.UsageError(
                f"PATH is {str(directory)!r} and --dataset is {dataset.reference!r}: give one of them."
            )
        tasks = directory if directory is not None else dataset
        if tasks is not None and self.task is not None:
            raise click.UsageError(
                f"{str(tasks)!r} is to be sent and --task {self.task} is on the server: give one of them."
            )
        task = self.task or (sweep.task if tasks is None else None)
        if task is not None:
            if not task.strip():
                raise click.UsageError("--task is empty: give the id or name of a task, as `oddish ls` shows it.")
            if filters := [flag for name, flag in FILTERS.items() if on_command_line(name)]:
                raise click.UsageError(
                    f"{' and '.join(filters)} would choose among the tasks of a directory; --task {task} is one task."
                )
            return Chosen(task=task.strip())
        sources = [Source(tasks)] if tasks is not None else sweep.sources
        if not sources:
            raise click.UsageError(
                "Name a task or a directory of tasks, for example: oddish run my-task -a oracle"
                if sweep is NOTHING
                else "No task is named: give PATH, or `path`, `task` or `dataset` in the file."
            )
        return Chosen([self._filtered(source) for source in sources], self.n_tasks)

    def _filtered(self, source: Source) -> Source:
        return replace(source, include=self.include or source.include, exclude=self.exclude or source.exclude)

    def _directory(self) -> Path | None:
        positional, option = self.path, self.path_option
        if positional is not None and option is not None and positional.resolve() != option.resolve():
            raise click.UsageError(f"PATH is {str(positional)!r} and --path is {str(option)!r}: give one of them.")
        chosen = positional if positional is not None else option
        if chosen is None or chosen.exists():
            return chosen
        if address := ADDRESS.match(str(chosen)):
            raise click.UsageError(
                f"{address[1]}//{address[2]} is an address; PATH is a local directory. "
                "Fetch the task first, for example with git clone, and name its directory."
            )
        if TASK_ID.fullmatch(str(chosen)):
            raise click.UsageError(
                f"{one_line(chosen)} does not exist. If it is the id of a task that the server has: --task {chosen}"
            )
        return chosen


task_options = gathered("tasks", TaskChoices, TASK_OPTIONS)
"""The command gets them as ``tasks``."""
