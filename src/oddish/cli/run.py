"""``oddish run``: from a task directory to recorded rewards."""

import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import click

from oddish.cli.credentials import Consent, Sources, env_file_option, hand_over, yes_option
from oddish.cli.documents import results, submission
from oddish.cli.flaws import Flaws
from oddish.cli.group import INTERRUPTED, Command
from oddish.cli.harbor_block import EngineChoices
from oddish.cli.options import api_option, json_option
from oddish.cli.output import notice, noticing, print_error, print_json, say
from oddish.cli.overview import NO_WORKER, alive_workers
from oddish.cli.pairs import split_values, split_variables
from oddish.cli.progress import for_output
from oddish.cli.registry import read_logins
from oddish.cli.run_options import baseline_gate_option, engine_options
from oddish.cli.selection import select_tasks
from oddish.cli.session import connect, resolve, tell_skew
from oddish.cli.submit import Plan, nothing_started, submit
from oddish.cli.tables import print_results
from oddish.cli.text import command, plural
from oddish.cli.trials import BASELINES, finished, skipped, succeeded
from oddish.cli.watch import RETRY, RunScope, Snapshot, watch_until_done
from oddish.client.endpoint import Endpoint
from oddish.client.errors import ApiError
from oddish.client.types import AgentConfig, Priority, Submitted, SweepConfig
from oddish.errors import OddishError
from oddish.names import experiment_name

MOST_ATTEMPTS = 100
PRIORITIES = ("low", "high")
ADDRESS = re.compile("([a-z][a-z0-9+.-]+:)/+(.*)", re.IGNORECASE | re.DOTALL)
"""As it looks once it has been taken for a path, which has one slash where there were two."""
EXAMPLES = """\b
Examples:
  oddish run my-task -a oracle
  oddish run my-task -m anthropic/claude-sonnet-4-5 --n-trials 5
  oddish run my-dataset -a nop -t 'csv-*' --background

\b
Exit codes:
  0    every trial was run and verified (or run, with --disable-verification),
       whatever its reward; without watching: the trials were submitted
  1    a trial failed, was cancelled or skipped, or the submission was refused,
       or the server cannot be reached
  2    the command line cannot be understood, or names no task
  130  interrupted; trials that were submitted go on
"""


@click.command(cls=Command, epilog=EXAMPLES)
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("-p", "--path", "path_option", metavar="PATH", type=click.Path(path_type=Path), help="Same as PATH.")
@click.option("-a", "--agent", default="claude-code", show_default=True, help="Agent that attempts the task.")
@click.option("-m", "--model", help="Model for the agent, as provider/model. The agents oracle and nop need none.")
@click.option(
    "--n-trials", type=click.IntRange(min=1), default=1, show_default=True, metavar="N", help="Trials of each task."
)
@click.option(
    "-e",
    "--env",
    metavar="NAME",
    help="Where trials run: local, docker, daytona, ec2, e2b, modal, runloop or gke. Else the server decides.",
)
@click.option("-E", "--experiment", metavar="NAME", help="Experiment to add to or create, by id or name.")
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
@click.option(
    "-w",
    "--watch/--no-watch",
    default=None,
    help="Watch until all trials have ended. This is the default, except with --json.",
)
@click.option("-b", "--background", "--async", "background", is_flag=True, help="Submit and return at once.")
@click.option(
    "-q", "--quiet", is_flag=True, help="Print the results and errors only: nothing of the start, no progress."
)
@click.option(
    "--ae",
    "--agent-env",
    "agent_env",
    multiple=True,
    metavar="KEY[=VALUE]",
    help="Variable for the agent; KEY alone takes its value from --env-file or the shell.",
)
@env_file_option
@yes_option
@click.option("--ak", "--agent-kwarg", "agent_kwarg", multiple=True, metavar="key=value", help="Setting of the agent.")
@click.option("-u", "--user", metavar="NAME", help="Record this author instead of the one of the key.")
@click.option(
    "--max-trial-attempts",
    type=click.IntRange(1, MOST_ATTEMPTS),
    metavar="N",
    help="Attempts at each trial, the first included, before it counts as failed. Else the server decides.",
)
@click.option(
    "-P",
    "--priority",
    type=click.Choice(PRIORITIES),
    default="low",
    show_default=True,
    help="Place of the trials among your own that wait.",
)
@baseline_gate_option
@engine_options
@click.option(
    "--registry-login",
    multiple=True,
    metavar="LOGIN",
    help="Sign in where images come from: username=USER,token=TOKEN[,registry=docker.io], values with commas in "
    "quotes. For Docker Hub else ODDISH_DOCKERHUB_USERNAME and ODDISH_DOCKERHUB_TOKEN.",
)
@click.option("--force-new-version", is_flag=True, help="Make a new task version even of unchanged content.")
@click.option(
    "--submit-concurrency", type=click.IntRange(min=1, max=64), metavar="N", help="Tasks that are sent at a time."
)
@api_option
@json_option
@click.pass_context
def run(
    ctx: click.Context,
    path: Path | None,
    path_option: Path | None,
    agent: str,
    model: str | None,
    n_trials: int,
    env: str | None,
    experiment: str | None,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    n_tasks: int | None,
    watch: bool | None,
    background: bool,
    quiet: bool,
    agent_env: tuple[str, ...],
    env_file: Path | None,
    yes: bool,
    agent_kwarg: tuple[str, ...],
    user: str | None,
    max_trial_attempts: int | None,
    priority: Priority,
    baseline_gate: bool,
    engine: EngineChoices,
    registry_login: tuple[str, ...],
    force_new_version: bool,
    submit_concurrency: int | None,
    api: str | None,
    as_json: bool,
) -> None:
    """Run an agent on PATH, a task directory or a directory of tasks, and watch the trials.

    Trials that the experiment has already are counted; only what is missing starts, and failed trials are replaced.
    Ctrl-C stops the watching, not the trials. A task is named as its directory; other content under the same name is
    another version of it.

    With --json the trials are submitted and their ids printed, at once; with --json --watch the document comes when all
    have ended, and holds their results too.
    """
    directory = _one_path(path, path_option)
    gated = baseline_gate and agent not in BASELINES
    if gated and engine.unverified:
        raise click.UsageError("--baseline-gate judges rewards, and with --disable-verification there are none.")
    if background and watch:
        raise click.UsageError("--background and --watch exclude each other.")
    if baseline_gate and not gated:
        notice(f"--baseline-gate has no effect: {agent} is itself a baseline, and no trial waits for the other one.")
    config: SweepConfig = {"agent": agent, "model": model, "n_trials": n_trials}
    if env is not None:
        config["environment"] = env
    agent_config: AgentConfig = engine.agent()
    sources = Sources.of(env_file)
    if agent_env:
        agent_config["env"] = split_variables(sources.complete(agent_env, "--ae"), "--ae")
    if agent_kwarg:
        agent_config["kwargs"] = split_values(agent_kwarg, "--ak")
    if agent_config:
        config["agent_config"] = agent_config
    flaws = Flaws(agent)
    tasks = select_tasks(directory, include=include, exclude=exclude, limit=n_tasks, look=flaws.look)
    flaws.tell(directory)
    plan = Plan(
        experiment or experiment_name(),
        config,
        user,
        force_new_version,
        priority,
        max_trial_attempts,
        harbor=engine.block(),
        logins=read_logins(registry_login, sources, env),
        gate_baselines=gated,
    )
    talk = not (quiet or as_json)

    endpoint = resolve(api)
    consent = Consent(sources, agreed=yes, may_ask=not as_json)
    plan = replace(
        plan, credentials=hand_over(endpoint, config, tasks, consent, verified=not engine.unverified, gated=gated)
    )
    if talk:
        say(f"Experiment {plan.experiment}: sending {plural(len(tasks), 'task')} to {endpoint.url}")
    try:
        submitted = _submit(endpoint, tasks, plan, submit_concurrency)
    except OddishError as refusal:
        error = _told_apart(refusal)
        if as_json or not nothing_started(error):
            raise error from None
        print_error(error)
        say("Nothing was started.", err=True)
        ctx.exit(1)
    if as_json and not watch:
        print_json(submission(submitted, plan.trials_of_task))
        return
    if talk:
        created = sum(len(task["new_trial_ids"]) for task in submitted)
        say(f"{plural(created, 'trial')} queued." if created else "Nothing to start: the experiment has these trials.")
    if background or watch is False:
        say(f"Watch with: {command('status', '-e', plan.experiment, '--watch')}")
        return
    try:
        end = _watch(endpoint, submitted, plan, quiet=quiet or as_json)
    except KeyboardInterrupt:
        if as_json:
            raise
        ctx.exit(INTERRUPTED)
    if as_json:
        print_json(results(submitted, plan.trials_of_task, end))
    else:
        _print(end, plan, quiet=quiet)
    ctx.exit(0 if end.successful else 1)


def _one_path(positional: Path | None, option: Path | None) -> Path:
    if positional is not None and option is not None and positional.resolve() != option.resolve():
        raise click.UsageError(f"PATH is {str(positional)!r} and --path is {str(option)!r}: give one of them.")
    chosen = positional if positional is not None else option
    if chosen is None:
        raise click.UsageError("Name a task or a directory of tasks, for example: oddish run my-task -a oracle")
    if (address := ADDRESS.match(str(chosen))) and not chosen.exists():
        raise click.UsageError(
            f"{address[1]}//{address[2]} is an address; PATH is a local directory. "
            "Fetch the task first, for example with git clone, and name its directory."
        )
    return chosen


def _submit(endpoint: Endpoint, tasks: list[Path], plan: Plan, concurrency: int | None) -> list[Submitted]:
    accepted: list[Submitted] = []
    try:
        with connect(endpoint) as client:
            tell_skew(client, endpoint)
            done = submit(client, tasks, plan, concurrency=concurrency, accepted=accepted.append, tell=noticing())
            with suppress(OddishError):
                if alive_workers(client) == 0:
                    notice(NO_WORKER)
            return done
    except KeyboardInterrupt:
        if accepted:
            say(f"\n{plural(len(accepted), 'task')} of {len(tasks)} went out. To stop them:", err=True)
            say(f"  {command('cancel', '--experiment', plan.experiment)}", err=True)
        raise


def _told_apart(error: OddishError) -> OddishError:
    """The refusal of an environment says what ``-e`` names in other commands: an experiment."""
    if not isinstance(error, ApiError) or error.problem_code != "unknown_environment":
        return error
    fix = " ".join(filter(None, (error.fix, "An experiment is named with -E.")))
    return ApiError({**error.problem, "fix": fix}, error.http_status)


def _watch(endpoint: Endpoint, submitted: list[Submitted], plan: Plan, *, quiet: bool) -> Snapshot:
    scope = RunScope.of(submitted, plan.config["agent"], plan.config["model"])
    come_back = command("status", "-e", plan.experiment, "--watch")
    try:
        with connect(endpoint, retry=RETRY) as client:
            return watch_until_done(lambda: scope.snapshot(client), for_output(quiet=quiet), come_back)
    except KeyboardInterrupt:
        say("\nNo longer watching; the trials go on.", err=True)
        say(f"  Come back:  {come_back}", err=True)
        say(f"  Stop them:  {command('cancel', '--experiment', plan.experiment)}", err=True)
        raise


def _print(end: Snapshot, plan: Plan, *, quiet: bool) -> None:
    if not quiet:
        say()
    print_results(end.tasks, end.trials)
    if not quiet:
        say("\nNext:")
        for line in _next_commands(end, plan):
            say(f"  {line}")


def _next_commands(end: Snapshot, plan: Plan) -> list[str]:
    """The experiment, and a trial: of one that failed also the ends of its logs."""
    failed = [trial for trial in end.trials if finished(trial) and not succeeded(trial) and not skipped(trial)]
    shown = [command("status", trial["id"], "-v") for trial in failed[:1]]
    shown = shown or [command("status", trial["id"]) for trial in end.trials[:1]]
    return [command("status", "-e", plan.experiment), *shown]
