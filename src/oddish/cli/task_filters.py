"""Options that choose among the tasks of directories and datasets: ``include``, ``exclude`` and ``n_tasks``."""

from collections.abc import Callable
from typing import Any

import click

FILTER_OPTIONS = (
    click.option(
        "-t",
        "-i",
        "--task-name",
        "--include-task-name",
        "include",
        multiple=True,
        metavar="GLOB",
        help="Only tasks whose directories have such a name.",
    ),
    click.option(
        "-x",
        "--exclude-task-name",
        "exclude",
        multiple=True,
        metavar="GLOB",
        help="No task whose directory has such a name.",
    ),
    click.option(
        "-l", "--n-tasks", type=click.IntRange(min=1), metavar="N", help="At most N of the tasks that are left."
    ),
)


def task_filters(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds them; the command gets each by its name."""
    for option in reversed(FILTER_OPTIONS):
        command = option(command)
    return command
