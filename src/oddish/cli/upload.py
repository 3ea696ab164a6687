"""``oddish upload``: register tasks, or import trials that were run elsewhere."""

from collections import Counter as Counts
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from oddish.cli.counter import counter
from oddish.cli.datasets import Dataset, dataset_options
from oddish.cli.group import Command
from oddish.cli.importing import Imported, Importer
from oddish.cli.jobs import JobTrial, Unusable, kind_of, trials_below
from oddish.cli.options import api_option, json_option
from oddish.cli.output import notice, print_json, say
from oddish.cli.registration import About, Declared, Registration, register
from oddish.cli.selection import select_tasks
from oddish.cli.session import connect, resolve, tell_skew
from oddish.cli.sweep.sweep import Source
from oddish.cli.targets import Targets, found_targets, named_target, registered_targets
from oddish.cli.text import brief, command, joined, one_line, plural, quoted
from oddish.client import Client
from oddish.client.types import ExperimentRef, Priority
from oddish.errors import InvalidInput, OddishError
from oddish.names import experiment_name

PARTLY = 2
LINES = 10
EXAMPLES = """\b
Examples:
  oddish upload my-task
  oddish upload -d swebench@1.0
  oddish upload jobs
  oddish upload jobs --path my-dataset -E march
  oddish upload jobs/2026-03-01__12-00-00 --task my-task-1a2b3c4d

\b
Exit codes:
  0    all of it is on the server; trials that have not ended are left out and
       reported
  1    nothing could be done
  2    some tasks or trials were refused, the others are there; or the command
       line cannot be understood
"""


@dataclass(frozen=True)
class Tasks:
    """The task directories that a command names, checked, and what is said of each."""

    directories: Sequence[Path]
    about: About
    declared: Declared


@dataclass
class Survey:
    """The trials below a path."""

    trials: list[JobTrial] = field(default_factory=list)
    unusable: list[Unusable] = field(default_factory=list)

    @classmethod
    def of(cls, path: Path) -> "Survey":
        """Raises ``InvalidInput`` when none has ended."""
        survey = cls()
        for found in trials_below(path):
            if isinstance(found, JobTrial):
                survey.trials.append(found)
            else:
                survey.unusable.append(found)
        if not survey.trials:
            first = survey.unusable[:1]
            example = f" {first[0].name}: {first[0].reason}." if first else ""
            raise InvalidInput(
                f"{path} holds no trial that can be imported.{example}",
                fix="Import it when some have ended.",
            )
        return survey


@click.command(cls=Command, epilog=EXAMPLES)
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option(
    "-p", "--path", "path_option", metavar="PATH", type=click.Path(path_type=Path), help="Task or dataset to register."
)
@click.option(
    "-t", "--task-name", "include", multiple=True, metavar="GLOB", help="Only tasks whose directories have such a name."
)
@click.option(
    "-x",
    "--exclude-task-name",
    "exclude",
    multiple=True,
    metavar="GLOB",
    help="No task whose directory has such a name.",
)
@click.option("-l", "--n-tasks", type=click.IntRange(min=1), metavar="N", help="At most N of the tasks that are left.")
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
    done = _register(client, tasks.directories, tasks.about, quiet=quiet)
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


def _register(client: Client, directories: Sequence[Path], about: About, *, quiet: bool) -> Sequence[Registration]:
    with counter(len(directories), "task", quiet=quiet) as count:
        return register(client, directories, about, registered=lambda: count.advance(1))


@dataclass
class Importing:
    """One import: the tasks, then the trials."""

    client: Client
    survey: Survey
    tasks: Tasks
    target: str | None
    experiment: str
    records_only: bool
    quiet: bool
    left_out: int = 0
    done: list[Imported] = field(default_factory=list)
    experiment_ref: ExperimentRef | None = None
    """Once the server has said which one it is."""

    def run(self, *, as_json: bool) -> int:
        """The exit code."""
        targets = self._targets()
        self.done = [Imported.not_sent(trial) for trial in self.survey.unusable]
        if not self.quiet:
            trials = plural(len(self.survey.trials), "trial")
            say(f"Experiment {self.experiment}: importing {trials} to {self.client.base_url}")
        try:
            self._import(targets)
        except (OddishError, KeyboardInterrupt):
            again = f"The same command with -E {quoted(self.experiment)} imports the others, and none twice."
            arrived = sum(entry.trial_id is not None for entry in self.done)
            say(f"{arrived} of {plural(len(self.survey.trials), 'trial')} were imported. {again}", err=True)
            raise
        if self.left_out:
            notice(f"{plural(self.left_out, 'link or special file')} of the trials cannot travel and was left out.")
        if as_json:
            print_json(self._document(targets))
        else:
            self._say()
        return PARTLY if any(entry.status == "error" for entry in self.done) else 0

    def _targets(self) -> Targets:
        trials = self.survey.trials
        if self.target is not None:
            targets, remark = named_target(self.client, self.target, trials)
            if remark:
                notice(remark)
            return targets
        if self.tasks.directories:
            return registered_targets(trials, self._registered(self.tasks.directories), self.tasks.declared.of)
        return found_targets(self.client, trials, self._found)

    def _found(self, directories: Sequence[Path]) -> Sequence[Registration]:
        """Tasks that only their jobs name, checked like those that a user names."""
        select_tasks([Source(directory) for directory in directories])
        for directory in directories:
            notice(f"Task {one_line(directory.name)} is registered from {directory}.")
        return self._registered(directories)

    def _registered(self, directories: Sequence[Path]) -> Sequence[Registration]:
        done = _register(self.client, directories, self.tasks.about, quiet=self.quiet)
        for entry in done:
            if entry.refusal is not None:
                raise entry.refusal
        if not self.quiet:
            for entry in done:
                if entry.version is not None and not entry.version["content_unchanged"]:
                    say(entry.line())
        return done

    def _import(self, targets: Targets) -> None:
        importer = Importer(
            self.client,
            self.experiment,
            targets,
            self.tasks.about.user,
            self.records_only,
            left_out=self._leave_out,
            announced=self._note_experiment,
        )
        with counter(len(self.survey.trials), "trial", quiet=self.quiet) as count:
            for batch in importer.run(self.survey.trials):
                self.done += batch
                count.advance(len(batch))

    def _leave_out(self, count: int) -> None:
        self.left_out += count

    def _note_experiment(self, experiment: ExperimentRef) -> None:
        self.experiment_ref = experiment

    def _document(self, targets: Targets) -> dict[str, object]:
        experiment = self.experiment_ref or {"id": None, "name": self.experiment}
        task_ids = sorted({target.task_id for target in targets.values()})
        return {
            "mode": "trial_import",
            "task_id": task_ids[0] if len(task_ids) == 1 else None,
            "task_ids": task_ids,
            "experiment_id": experiment["id"],
            "experiment_url": None,
            "trials": [
                {
                    "job_name": entry.job,
                    "trial_name": entry.name,
                    "trial_id": entry.trial_id,
                    "experiment_id": experiment["id"],
                    "experiment_name": experiment["name"],
                    "files_extracted": entry.files,
                    "status": "imported" if entry.status == "existing" else entry.status,
                    "existing": entry.status == "existing",
                    "trial_status": entry.trial_status,
                    "reward": entry.reward,
                }
                | ({} if entry.error is None else {"error": entry.error})
                for entry in self.done
            ],
        }

    def _say(self) -> None:
        counts = Counts(entry.status for entry in self.done)
        verdicts = Counts(entry.trial_status for entry in self.done if entry.status == "imported")
        parts = [f"{plural(counts['imported'], 'trial')} imported"]
        if counts["imported"]:
            parts[0] += f" ({verdicts['success']} success, {verdicts['failed']} failed)"
        words = {"existing": "there already", "skipped": "skipped", "error": "refused"}
        parts += [f"{counts[status]} {word}" for status, word in words.items() if counts[status]]
        say(f"Experiment {self.experiment}: {', '.join(parts)}.")
        left = [entry for entry in self.done if entry.error is not None]
        left.sort(key=lambda entry: entry.status)
        for entry in left[:LINES]:
            say(f"  {one_line(entry.job)}/{one_line(entry.name)} {words[entry.status]}: {brief(entry.error)}", err=True)
        if len(left) > LINES:
            say(f"  and {len(left) - LINES} more; --json lists them", err=True)
        if not self.quiet:
            say(f"\nNext:\n  {command('status', '-e', self.experiment)}")
