"""``oddish check``: is a task sound?"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from oddish.cli.completion import environment_names
from oddish.cli.credentials import Consent, Sources, env_file_option, hand_over, yes_option
from oddish.cli.group import Command
from oddish.cli.judgement import NOP, ORACLE, Runs, judge
from oddish.cli.options import api_option, json_option
from oddish.cli.output import print_error, print_json, say
from oddish.cli.probing import Probe, Probed, Request, blames_task, run_probes
from oddish.cli.session import resolve
from oddish.cli.text import command, joined, one_line, plural
from oddish.client.types import SweepConfig, Trial
from oddish.errors import OddishError
from oddish.names import experiment_name
from oddish.soundness.review import Review, review
from oddish.soundness.verdict import Check, Verdict, failed, together, unchecked, verdict
from oddish.tasks.discovery import discover

VERSION = 1
EXIT_CODES: dict[Verdict, int] = {"sound": 0, "unsound": 1, "unchecked": 3}
TRIALS = "trials"
WORDS: dict[Verdict, str] = {"sound": "sound", "unsound": "unsound", "unchecked": "could not be checked"}
STYLES = {"ok": "green", "warning": "yellow", "failed": "red", "unchecked": "magenta"}
EXAMPLES = """\b
Examples:
  oddish check my-task
  oddish check my-dataset --repeat 5 --env docker
  oddish check my-task --skip-trials --json
"""


@dataclass(frozen=True)
class Checked:
    """One task: what was looked at, and the trials it was judged by."""

    path: Path
    """As it was named."""
    name: str
    checks: Sequence[Check]
    task_id: str | None = None
    trials: Sequence[Trial] = ()

    @property
    def verdict(self) -> Verdict:
        return verdict(self.checks)


@click.command(cls=Command, epilog=EXAMPLES)
@click.argument("tasks", nargs=-1, required=True, metavar="TASK...", type=click.Path(path_type=Path))
@click.option(
    "-e",
    "--env",
    metavar="NAME",
    shell_complete=environment_names,
    help="Where the trials run. Else the server decides.",
)
@click.option("--skip-trials", is_flag=True, help="Look at the files only: no server, nothing is run.")
@click.option(
    "--repeat", type=click.IntRange(1, 100), default=2, show_default=True, metavar="N", help="Trials of each agent."
)
@env_file_option
@yes_option
@api_option
@json_option
@click.pass_context
def check(
    ctx: click.Context,
    tasks: tuple[Path, ...],
    env: str | None,
    skip_trials: bool,
    repeat: int,
    env_file: Path | None,
    yes: bool,
    api: str | None,
    as_json: bool,
) -> None:
    """Find out whether each TASK, a task directory or a directory of tasks, is sound.

    First its files are looked at. Then its own solution is run (the agent oracle), which should earn 1, and nothing is
    done (nop), which should not; repeated trials should earn the same.

    \b
    Exit codes:
      0    every task is sound; warnings are allowed
      1    a task is not sound: a check failed
      2    the command line cannot be understood, or names no task
      3    nothing failed, and something could not be found out
      130  interrupted; trials that were started go on
    """
    directories = _directories(tasks)
    experiment = f"check-{experiment_name()}"
    try:
        reviews = review(directories, env)
        consent = Consent(Sources.of(env_file), agreed=yes, may_ask=not as_json)
        request = Request(experiment, repeat, env)
        probed = Probed() if skip_trials else _probe(reviews, request, consent, api, quiet=as_json)
    except OddishError as error:
        print_error(error, as_json=as_json)
        ctx.exit(EXIT_CODES["unchecked"])
    except KeyboardInterrupt:
        if not as_json:
            say("\nTrials that were started go on.", err=True)
            say(f"  Stop them:  {command('cancel', '--experiment', experiment)}", err=True)
        raise
    checked = [
        _checked(path, found, probed, skipped=skip_trials) for path, found in zip(directories, reviews, strict=True)
    ]
    outcome = together(task.verdict for task in checked)
    if as_json:
        print_json(_document(checked, outcome, probed, experiment, repeat))
    else:
        _print(checked, outcome)
    ctx.exit(EXIT_CODES[outcome])


def _directories(paths: Sequence[Path]) -> list[Path]:
    try:
        found = [task for path in paths for task in discover(path)]
    except OddishError as error:
        raise click.UsageError(str(error)) from error
    return list({task.resolve(): task for task in found}.values())


def _probe(reviews: Sequence[Review], request: Request, consent: Consent, api: str | None, *, quiet: bool) -> Probed:
    probes = [Probe(found.directory, found.has_solution) for found in reviews if found.sendable]
    if not probes:
        return Probed()

    def started(trials: int) -> None:
        if not quiet:
            say(f"Experiment {request.experiment}: {plural(trials, 'trial')} of {plural(len(probes), 'task')}")

    try:
        endpoint = resolve(api)
    except OddishError as error:
        return Probed(failure=error)
    config: SweepConfig = {"agent": ORACLE, "model": None, "n_trials": request.repeat}
    given = hand_over(endpoint, [config], [probe.directory for probe in probes], consent, verified=True)
    request = replace(request, credentials=given)
    return run_probes(endpoint, probes, request, quiet=quiet, started=started)


def _checked(path: Path, found: Review, probed: Probed, *, skipped: bool) -> Checked:
    submitted = probed.submitted.get(found.directory)
    trials = probed.trials.get(found.directory, [])
    checks = list(found.checks)
    if found.definition is not None and found.directory in probed.trials:
        oracle, nop = probed.of(found.directory, ORACLE), probed.of(found.directory, NOP)
        checks += judge(Runs(found.definition, oracle, nop, found.local_obstacle, found.has_solution))
    elif found.sendable and not skipped:
        checks.append(_without_trials(probed.refused.get(found.directory) or probed.failure))
    return Checked(path, found.name, checks, submitted["id"] if submitted else None, trials)


def _without_trials(error: OddishError | None) -> Check:
    """The server may blame the task; all else says nothing about it."""
    if error is None:
        return unchecked(TRIALS, "No trial was started.")
    make = failed if blames_task(error) else unchecked
    return make(TRIALS, error.message, error.fix)


def _print(checked: Sequence[Checked], outcome: Verdict) -> None:
    from rich.text import Text

    from oddish.cli.tables import print_table, table

    for task in checked:
        say(f"\n{one_line(task.name)}  {task.verdict}\n")
        made = table("Check", "Result", "Found")
        for entry in task.checks:
            fix = f"\nFix: {one_line(entry.fix, 1000)}" if entry.fix else ""
            made.add_row(entry.name, Text(entry.level, style=STYLES[entry.level]), one_line(entry.found, 1000) + fix)
        print_table(made)
    say(f"\n{_verdict_line(checked, outcome)}")


def _verdict_line(checked: Sequence[Checked], outcome: Verdict) -> str:
    if len(checked) == 1:
        return f"{one_line(checked[0].name)}: {WORDS[outcome]}"
    parts = []
    for kind, word in WORDS.items():
        names = [one_line(task.name) for task in checked if task.verdict == kind]
        if names:
            listed = "" if kind == "sound" else f" ({joined(names)})"
            parts.append(f"{len(names)} {word}{listed}")
    return f"{plural(len(checked), 'task')}: {', '.join(parts)}"


def _document(
    checked: Sequence[Checked], outcome: Verdict, probed: Probed, experiment: str, repeat: int
) -> dict[str, object]:
    identity = probed.experiment_id
    return {
        "version": VERSION,
        "verdict": outcome,
        "experiment": {"id": identity, "name": experiment} if identity else None,
        "repeat": repeat,
        "tasks": [
            {
                "path": str(task.path),
                "name": task.name,
                "task_id": task.task_id,
                "verdict": task.verdict,
                "checks": [
                    {"name": entry.name, "result": entry.level, "found": entry.found, "fix": entry.fix}
                    for entry in task.checks
                ],
                "trials": [
                    {
                        "id": trial["id"],
                        "agent": trial["agent"],
                        "environment": trial.get("environment"),
                        "status": trial["status"],
                        "reward": trial["reward"],
                        "rewards": trial.get("rewards"),
                        "error": trial.get("error_message"),
                    }
                    for trial in task.trials
                ],
            }
            for task in checked
        ],
    }
