"""``oddish upload``: register tasks, or import trials that were run elsewhere."""

from pathlib import Path

import click

from oddish.cli.datasets import Dataset, dataset_options
from oddish.cli.group import Command
from oddish.cli.importation import PARTLY, Importing, Survey
from oddish.cli.jobs import kind_of
from oddish.cli.lookup import of_task
from oddish.cli.options import api_option, json_option
from oddish.cli.output import print_json, say
from oddish.cli.registration import About, Declared, Tasks, register_counted
from oddish.cli.selection import select_tasks
from oddish.cli.session import connect, resolve, tell_skew
from oddish.cli.sweep.sweep import Source
from oddish.cli.task_filters import task_filters
from oddish.cli.text import joined, one_line
from oddish.client import Client
from oddish.client.types import Priority
from oddish.names import experiment_name

EXAMPLES = """\b
Examples:
  oddish upload my-task
  oddish upload -d swebench@1.0
  oddish upload jobs
  oddish upload jobs --path my-dataset -E march
  oddish upload jobs/2026-03-01__12-00-00 --task my-task-1a2b3c4d
  oddish upload --task my-task --default-version 2

\b
Exit codes:
  0    all of it is on the server; trials that have not ended are left out and
       reported
  1    nothing could be done
  2    some tasks or trials were refused, the others are there; or the command
       line cannot be understood
"""


@click.command(cls=Command, epilog=EXAMPLES)
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option(
    "-p", "--path", "path_option", metavar="PATH", type=click.Path(path_type=Path), help="Task or dataset to register."
)
@task_filters
@dataset_options
@click.option("--task", "target", metavar="TASK", help="Import the trials into this task, by id or name.")
@click.option(
    "-E", "--experiment", metavar="NAME", help="Import into this experiment, by id or name. Default: a new one."
)
@click.option(
    "--skip-artifacts",
    is_flag=True,
    help="Import the records of the trials only: no logs, no trajectories, no artifacts.",
)
@click.option(
    "-P",
    "--priority",
    type=click.Choice(("low", "high")),
    help="Priority of a task that is new or changed. Default: as it was, low of a new one.",
)
@click.option("-M", "--message", metavar="TEXT", help="What is new in this version of the task.")
@click.option(
    "--default-version",
    type=click.IntRange(1, 2**31 - 1),
    metavar="N",
    help="Send nothing; make this version of --task the one that new trials run.",
)
@click.option("-u", "--user", metavar="NAME", help="Record this author instead of the one of the key.")
@click.option("-q", "--quiet", is_flag=True, help="Print the result and errors only.")
@api_option
@json_option
@click.pass_context
def upload(
    ctx: click.Context,
    path: Path | None,
    path_option: Path | None,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    n_tasks: int | None,
    dataset: Dataset | None,
    target: str | None,
    experiment: str | None,
    skip_artifacts: bool,
    priority: Priority | None,
    message: str | None,
    default_version: int | None,
    user: str | None,
    quiet: bool,
    api: str | None,
    as_json: bool,
) -> None:
    """Register tasks, or import the trials of Harbor jobs.

    PATH is a task, a directory of tasks, a Harbor job, or a directory of Harbor jobs. Nothing is run. With a job and
    --path the tasks are registered first and the trials imported into them; without, a trial goes to the task of that
    name, which is registered from where the job says it is if the server has none.

    What is there already is not made twice: the same content is the same version, and a trial is imported once into an
    experiment.
    """
    if default_version is not None:
        beside = {"PATH": path, "--path": path_option, "--dataset": dataset, "--experiment": experiment, "-M": message}
        if target is None or (others := [name for name, value in beside.items() if value is not None]):
            what = f"{joined(others)} cannot be given with it." if target is not None else "Name its task with --task."
            raise click.UsageError(f"--default-version is about a task that is there. {what}")
        with connect(resolve(api)) as client:
            _make_default(client, target, default_version, as_json=as_json)
        return
    jobs = path if path is not None and kind_of(path) == "jobs" else None
    of_tasks = _task_path(path if jobs is None else None, path_option)
    if of_tasks is not None and dataset is not None:
        raise click.UsageError(
            f"{str(of_tasks)!r} and --dataset {dataset.reference} both name tasks: give one of them."
        )
    source = of_tasks or dataset
    of_trials = {"--task": target, "--experiment": experiment, "--skip-artifacts": skip_artifacts}
    if jobs is None and (given := [option for option, value in of_trials.items() if value]):
        raise click.UsageError(f"{joined(given)}: only for trials, and no Harbor job is named as PATH.")
    if jobs is None and source is None:
        raise click.UsageError("Name a task, a directory of tasks, or a Harbor job, for example: oddish upload my-task")
    if target and source:
        raise click.UsageError("--task names a task that is there, --path and -d ones to register: give one of them.")
    if source is None and (include or exclude or n_tasks):
        raise click.UsageError("-t, -x and -l choose among the tasks of --path or -d.")
    survey = Survey.of(jobs) if jobs is not None else None
    declared = Declared()
    sources = [] if source is None else [Source(source, include, exclude)]
    directories = select_tasks(sources, limit=n_tasks, look=declared.look)
    tasks = Tasks(directories, About(message, user, priority), declared)
    endpoint = resolve(api)
    with connect(endpoint) as client:
        tell_skew(client, endpoint)
        if survey is None:
            code = _register_all(client, tasks, quiet=quiet or as_json, as_json=as_json)
        else:
            importing = Importing(
                client, survey, tasks, target, experiment or experiment_name(), skip_artifacts, quiet or as_json
            )
            code = importing.run(as_json=as_json)
    ctx.exit(code)


def _make_default(client: Client, task: str, version: int, *, as_json: bool) -> None:
    made = of_task(client, task, lambda task_id: client.versions.make_default(task_id, version))
    if as_json:
        print_json(made)
    else:
        say(f"Task {one_line(made['task_id'])}: version {version} is the one that new trials run.")


def _task_path(positional: Path | None, option: Path | None) -> Path | None:
    if positional is not None and option is not None and positional.resolve() != option.resolve():
        raise click.UsageError(
            f"PATH is {str(positional)!r} and --path is {str(option)!r}, and neither is a Harbor job: give one of them."
        )
    chosen = positional if positional is not None else option
    if chosen is not None and kind_of(chosen) == "jobs":
        raise click.UsageError(f"{str(chosen)!r} is a Harbor job: name it as PATH; --path is for tasks.")
    return chosen


def _register_all(client: Client, tasks: Tasks, *, quiet: bool, as_json: bool) -> int:
    done = register_counted(client, tasks.directories, tasks.about, quiet=quiet)
    refused = [entry for entry in done if entry.refusal is not None]
    if len(refused) == len(done):
        assert refused[0].refusal is not None  # noqa: S101
        raise refused[0].refusal
    if as_json:
        print_json({"mode": "task_upload", "tasks": [entry.document() for entry in done]})
    else:
        for entry in done:
            say(entry.line(), err=entry.refusal is not None)
    return PARTLY if refused else 0
