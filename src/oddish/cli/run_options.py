"""Options of ``oddish run`` about the engine and the baselines."""

import functools
from typing import Any

import click
from click.core import ParameterSource

from oddish.cli.gathering import Command, gathered
from oddish.cli.harbor_block import EngineChoices

MOST_ATTEMPTS = 100
AT_LEAST_ONE = click.IntRange(min=1)

ENGINE_OPTIONS = (
    click.option(
        "--disable-verification/--enable-verification",
        "unverified",
        default=None,
        help="Run the agent only: no tests, no reward. The trials are shown as not verified.",
    ),
    click.option(
        "--harbor",
        metavar="REF",
        envvar="ODDISH_HARBOR",
        show_envvar=True,
        help="Run with another Harbor: a version such as 0.25.0, a branch, tag or commit, org/repo@ref, or "
        "https://host/path@ref.",
    ),
    click.option("--override-cpus", type=AT_LEAST_ONE, metavar="N", help="CPUs instead of what the task asks for."),
    click.option("--override-memory-mb", type=AT_LEAST_ONE, metavar="MB", help="Memory instead of the task's."),
    click.option("--override-gpus", type=click.IntRange(min=0), metavar="N", help="GPUs instead of the task's."),
    click.option("--override-storage-mb", type=AT_LEAST_ONE, metavar="MB", help="Disk space instead of the task's."),
    click.option(
        "--force-build/--no-force-build", default=None, help="Build the image of the environment even if it is there."
    ),
    click.option(
        "--environment-kwarg",
        "--harbor-environment-kwarg",
        "--ek",
        "environment_kwarg",
        multiple=True,
        metavar="KEY=VALUE",
        help="Setting of the environment.",
    ),
    click.option(
        "--artifact", multiple=True, metavar="PATH", help="Keep this file or directory of the sandbox after the trial."
    ),
    click.option(
        "--allow-agent-host",
        multiple=True,
        metavar="HOST",
        help="One more host for an agent that the task keeps from the internet. The host of its model is allowed "
        "anyway.",
    ),
    click.option(
        "--disable-web-tools/--no-disable-web-tools",
        default=None,
        help="Whether the agent does without searching and fetching at its model's provider. By default it does where "
        "the task keeps it from the internet.",
    ),
)


baseline_gate_option = click.option(
    "--baseline-gate/--no-baseline-gate",
    default=False,
    show_default=True,
    help="Run oracle and nop on each task first, once each unless the experiment has them. Where an oracle earns "
    "nothing, a nop anything, or one of them fails, the trials of the agent are skipped.",
)


def attempts_options(command: Command) -> Command:
    """Adds the two ways to bound attempts; the command gets ``max_trial_attempts``."""

    @click.option(
        "--max-trial-attempts",
        type=click.IntRange(1, MOST_ATTEMPTS),
        metavar="N",
        help="Attempts at each trial, the first included, before it counts as failed. Else the server decides.",
    )
    @click.option(
        "-r",
        "--max-retries",
        type=click.IntRange(0, MOST_ATTEMPTS - 1),
        metavar="N",
        help="Attempts beyond the first: --max-trial-attempts less one.",
    )
    @functools.wraps(command)
    def counting(*args: Any, max_trial_attempts: int | None, max_retries: int | None, **options: Any) -> Any:
        attempts = max_trial_attempts
        if max_retries is not None:
            attempts = max_retries + 1
            source = click.get_current_context().get_parameter_source("max_trial_attempts")
            if source is ParameterSource.COMMANDLINE and max_trial_attempts != attempts:
                raise click.UsageError("--max-trial-attempts and --max-retries say different things: give one of them.")
        return command(*args, max_trial_attempts=attempts, **options)

    return counting


engine_options = gathered("engine", EngineChoices, ENGINE_OPTIONS)
"""The command gets them as ``engine``."""
