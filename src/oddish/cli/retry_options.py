"""--retry and --qa of ``oddish run``: what is named runs again, and of the other options few mean anything then."""

import functools
from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

TARGETS = ("--task", "--experiment")
ALWAYS = frozenset({*TARGETS, "--retry", "--qa", "--yes", "--json", "--api", "--quiet", "--background"})
WITH_TRIALS = ALWAYS | {"--registry-login", "--baseline-gate"}
OPTIONS = (
    click.option(
        "--retry",
        is_flag=True,
        help="Run again instead: PATH, --task or --experiment is the id of a trial, or the id or name of a task or "
        "experiment whose failed, cancelled and skipped trials are meant.",
    ),
    click.option("--qa", is_flag=True, help="With --retry: repeat the analysis of the tasks, not their trials."),
)

type Command = Callable[..., Any]


def retry_options(command: Command) -> Command:
    """Adds --retry and --qa. With --retry the command itself is not run."""

    @functools.wraps(command)
    def choosing(*args: Any, retry: bool, qa: bool, **options: Any) -> Any:
        if not (retry or qa):
            return command(*args, **options)
        if not retry:
            raise click.UsageError("--qa belongs to --retry.")
        line = Line(click.get_current_context())
        line.check(qa=qa)
        from oddish.cli.retry import run_again

        return run_again(line, qa=qa)

    decorated: Command = choosing
    for option in reversed(OPTIONS):
        decorated = option(decorated)
    return decorated


class Line:
    """A command line with --retry, by the names of its options."""

    def __init__(self, context: click.Context) -> None:
        self.context = context

    def value(self, option: str) -> Any:
        for parameter in self.context.command.params:
            if option in parameter.opts:
                return self._value(parameter)
        return None

    @property
    def target(self) -> str:
        return next(iter(self._targets.values()))

    @property
    def announces_experiment(self) -> bool:
        return "--experiment" in self._targets

    @property
    def gated(self) -> bool:
        """Unless --no-baseline-gate is said."""
        return not any(
            "--no-baseline-gate" in parameter.secondary_opts
            and self._is_given(parameter)
            and self._value(parameter) is False
            for parameter in self.context.command.params
        )

    def check(self, *, qa: bool) -> None:
        """Raise ``click.UsageError`` unless one thing is named, and nothing is said that has no meaning here."""
        meaningful = ALWAYS if qa else WITH_TRIALS
        others = [
            next(option for option in parameter.opts if option.startswith("--"))
            for parameter in self.context.command.params
            if isinstance(parameter, click.Option)
            and not meaningful & {*parameter.opts}
            and self._is_given(parameter)
            and self._value(parameter) is not False
        ]
        if others:
            reason = "only the analysis is repeated" if qa else "trials run again as they were submitted"
            raise click.UsageError(f"{', '.join(others)} cannot be given with --retry{' --qa' * qa}: {reason}.")
        if len(self._targets) != 1:
            named = f" {' and '.join(self._targets)} are given." if self._targets else ""
            raise click.UsageError(f"With --retry name one trial, task or experiment.{named}")

    @property
    def _targets(self) -> dict[str, str]:
        """What is named, by how."""
        given: dict[str, object] = {
            parameter.human_readable_name: self._value(parameter)
            for parameter in self.context.command.params
            if isinstance(parameter, click.Argument)
        }
        given |= {option: self.value(option) for option in TARGETS}
        return {how: str(name) for how, name in given.items() if name is not None}

    def _value(self, parameter: click.Parameter) -> Any:
        return self.context.params.get(parameter.name or "")

    def _is_given(self, parameter: click.Parameter) -> bool:
        return self.context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
