"""``oddish run``: from task directories, agents and models to recorded rewards."""

from dataclasses import replace
from pathlib import Path

import click
from click.core import ParameterSource

from oddish.cli import running
from oddish.cli.agent_choices import AgentChoices, agent_options
from oddish.cli.costlimit import CostLimit, max_cost_option, tell_unread
from oddish.cli.credentials import Consent, Sources, env_file_option, hand_over, yes_option
from oddish.cli.datasets import Dataset, dataset_options
from oddish.cli.dispatch import Cargo, dispatch
from oddish.cli.documents import results, submission
from oddish.cli.dryrun import dry_run_option, rehearse
from oddish.cli.flaws import Flaws
from oddish.cli.group import INTERRUPTED
from oddish.cli.harbor_block import EngineChoices, overlaid, unverified
from oddish.cli.harbor_ways import HarborLike
from oddish.cli.labels import Labels, label_options
from oddish.cli.manner import Manner, manner_options
from oddish.cli.options import api_option
from oddish.cli.output import notice, print_error, print_json, say
from oddish.cli.registry import read_logins
from oddish.cli.retry_options import retry_options
from oddish.cli.run_options import attempts_options, baseline_gate_option, engine_options
from oddish.cli.selection import select_tasks
from oddish.cli.session import resolve
from oddish.cli.sharing import link_to
from oddish.cli.submit import Plan, nothing_started
from oddish.cli.sweep.sweep import Sweep
from oddish.cli.sweep_option import sweep_option
from oddish.cli.task_choices import TaskChoices, task_options
from oddish.cli.text import command, joined, plural
from oddish.cli.trials import BASELINES
from oddish.cli.tuning import Tuning, tuning_options
from oddish.client.endpoint import Endpoint
from oddish.client.types import Priority, Submitted
from oddish.errors import OddishError
from oddish.names import experiment_name

PRIORITIES = ("low", "high")
EXAMPLES = """\b
Examples:
  oddish run my-task -a oracle
  oddish run my-task -m anthropic/claude-sonnet-4-5 --n-trials 5
  oddish run my-dataset -a nop -t 'csv-*' --background
  oddish run -d swebench@1.0 -m anthropic/claude-sonnet-4-5 -l 20
  oddish run my-dataset -c sweep.yaml -E nightly
  oddish run --task my-task-1a2b3c4d -a oracle
  oddish run my-task-1a2b3c4d --retry

\b
Exit codes:
  0    every trial was run and verified (or run, with --disable-verification),
       whatever its reward; without watching: the trials were submitted
  1    a trial failed, was cancelled or skipped, or the submission was refused,
       or the server cannot be reached
  2    the command line or the file of -c cannot be understood, or names no task
  130  interrupted; trials that were submitted go on
"""


@click.command(cls=HarborLike, epilog=EXAMPLES)
@retry_options
@task_options
@dataset_options
@sweep_option
@agent_options
@click.option("-E", "--experiment", "--job-name", metavar="NAME", help="Experiment to add to or create, by id or name.")
@manner_options
@env_file_option
@yes_option
@click.option("-u", "--user", metavar="NAME", help="Record this author instead of the one of the key.")
@attempts_options
@max_cost_option
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
@tuning_options
@click.option(
    "--registry-login",
    multiple=True,
    metavar="LOGIN",
    help="Sign in where images come from: username=USER,token=TOKEN[,registry=docker.io], values with commas in "
    "quotes. For Docker Hub else ODDISH_DOCKERHUB_USERNAME and ODDISH_DOCKERHUB_TOKEN.",
)
@click.option("--force-new-version", is_flag=True, help="Make a new task version even of unchanged content.")
@label_options
@dry_run_option
@click.option(
    "--submit-concurrency",
    type=click.IntRange(min=1, max=64),
    metavar="N",
    help="Tasks that are sent at a time. By default as many as goes well.",
)
@api_option
@click.pass_context
def run(
    ctx: click.Context,
    tasks: TaskChoices,
    dataset: Dataset | None,
    sweep: Sweep,
    agents: AgentChoices,
    experiment: str | None,
    manner: Manner,
    env_file: Path | None,
    yes: bool,
    user: str | None,
    max_trial_attempts: int | None,
    max_cost: float | None,
    priority: Priority,
    baseline_gate: bool,
    engine: EngineChoices,
    tuning: Tuning,
    registry_login: tuple[str, ...],
    force_new_version: bool,
    submit_concurrency: int | None,
    labels: Labels,
    dry_run: bool,
    api: str | None,
) -> None:
    """Run agents on PATH, a task directory or a directory of tasks, or on a dataset, and watch the trials.

    Trials that the experiment has already are counted; only what is missing starts, and failed trials are replaced.
    Ctrl-C stops the watching, not the trials. A task is named as its directory; other content under the same name is
    another version of it.

    With --json the trials are submitted and their ids printed, at once; with --json --watch the document comes when all
    have ended, and holds their results too.
    """
    manner.check()
    chosen = tasks.chosen(dataset, sweep, lambda name: ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE)
    sources = Sources.of(env_file)
    configs = agents.configs(sweep, engine.agent(), sources)
    names = [config["agent"] for config in configs]
    if "ref" in sweep.harbor and ctx.get_parameter_source("harbor") is ParameterSource.ENVIRONMENT:
        engine = replace(engine, harbor=None)
    harbor = overlaid(sweep.harbor, overlaid(tuning.block(), engine.block()))
    gated = baseline_gate and any(name not in BASELINES for name in names)
    if gated and unverified(harbor):
        raise click.UsageError("--baseline-gate judges rewards, and with --disable-verification there are none.")
    if baseline_gate and not gated:
        notice(_without_effect(names))
    if sweep.unused:
        notice(f"The file is a job of Harbor; not used of it: {joined(sweep.unused)}.")

    flaws = Flaws(names)
    directories = select_tasks(chosen.sources, limit=chosen.limit, look=flaws.look)
    flaws.tell(source.tasks for source in chosen.sources)
    plan = Plan(
        experiment or experiment_name(),
        configs,
        user,
        force_new_version,
        priority,
        max_trial_attempts,
        harbor=harbor,
        logins=read_logins(registry_login, sources, [config.get("environment") for config in configs]),
        gate_baselines=gated,
        labels=labels,
        cost_limit=CostLimit.of(max_cost, named=experiment is not None),
    )
    if max_cost is not None:
        tell_unread(names)
    if dry_run:
        rehearse(directories, chosen.task, plan, experiment=experiment, as_json=manner.as_json)
        return
    endpoint = resolve(api)
    consent = Consent(sources, agreed=yes, may_ask=not manner.as_json)
    granted = hand_over(
        endpoint,
        configs,
        directories,
        consent,
        verified=not unverified(harbor),
        gated=gated,
        harbor=harbor,
        server_task=chosen.task,
    )
    plan = replace(plan, credentials=granted)
    cargo = Cargo(directories, chosen.task)
    named = experiment is not None
    try:
        plan, submitted = dispatch(
            endpoint, cargo, plan, named=named, concurrency=submit_concurrency, talk=manner.talks
        )
    except OddishError as refusal:
        error = running.told_apart(refusal)
        if manner.as_json or not nothing_started(error):
            raise error from None
        print_error(error)
        say("Nothing was started.", err=True)
        ctx.exit(1)
    ctx.exit(_tell(endpoint, submitted, plan, manner))


def _tell(endpoint: Endpoint, submitted: list[Submitted], plan: Plan, manner: Manner) -> int:
    """Say what was submitted and, where it is watched, what came of it; the exit code."""
    public_url = link_to(endpoint, submitted[0]["experiment_id"]) if plan.labels.publish else None
    if manner.as_json and not manner.watches:
        print_json(submission(submitted, plan.trials_of_task, public_url))
        return 0
    if manner.talks:
        created = sum(len(task["new_trial_ids"]) for task in submitted)
        say(f"{plural(created, 'trial')} queued." if created else "Nothing to start: the experiment has these trials.")
    if public_url and not manner.as_json:
        say(f"Whoever has this link can read the experiment: {public_url}")
    if not manner.watches:
        say(f"Watch with: {command('status', '-e', plan.experiment, '--watch')}")
        return 0
    try:
        end = running.watch(endpoint, submitted, plan, quiet=not manner.talks)
    except KeyboardInterrupt:
        if manner.as_json:
            raise
        return INTERRUPTED
    if manner.as_json:
        print_json(results(submitted, plan.trials_of_task, end, public_url))
    else:
        running.show(end, plan, quiet=manner.quiet)
    return 0 if end.successful else 1


def _without_effect(baselines: list[str]) -> str:
    them = f"{baselines[0]} is itself a baseline" if len(baselines) == 1 else "the agents are themselves baselines"
    return f"--baseline-gate has no effect: {them}, and no trial waits for the other one."
