"""Sending off the tasks of a run: where they go, how far it is, and what an interruption leaves."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path

from oddish.cli.output import notice, noticing, say
from oddish.cli.overview import NO_WORKER, alive_workers
from oddish.cli.resumption import Resumption, resumption
from oddish.cli.sendbar import SendBar
from oddish.cli.session import LOCAL, connect, tell_skew
from oddish.cli.submit import Plan, append, nothing_started, submit
from oddish.cli.text import command, plural, quoted
from oddish.client.endpoint import Endpoint
from oddish.client.types import Submitted
from oddish.errors import OddishError

NO_WORDS = frozenset({"experiment", "logins", "credentials"})
"""What of a plan does not tell one command from another."""


@dataclass(frozen=True)
class Cargo:
    """Task directories to send, or the id or name of a task that the server has."""

    directories: Sequence[Path] = ()
    task: str | None = None

    @property
    def count(self) -> int:
        return len(self.directories) or 1

    def sentence(self, url: str) -> str:
        if self.task is not None:
            return f"adding trials to {self.task} at {url}"
        return f"sending {plural(self.count, 'task')} to {url}"


def dispatch(
    endpoint: Endpoint,
    cargo: Cargo,
    plan: Plan,
    *,
    named: bool,
    concurrency: int | None = None,
    talk: bool = True,
) -> tuple[Plan, list[Submitted]]:
    """Send ``cargo`` and what was asked for of each task; the plan with the experiment they went to.

    Without a ``named`` experiment an interrupted submission of the same words goes on in its own. Raises what
    ``submit`` raises.
    """
    if named or plan.force_new_version:
        return plan, _send(endpoint, cargo, plan, Resumption(plan.experiment), concurrency, talk=talk)
    with resumption(_words(endpoint, cargo, plan), lambda: plan.experiment) as kept:
        plan = replace(plan, experiment=kept.experiment)
        submitted = _send(endpoint, cargo, plan, kept, concurrency, talk=talk)
        kept.forget()
    return plan, submitted


def _send(
    endpoint: Endpoint,
    cargo: Cargo,
    plan: Plan,
    kept: Resumption,
    concurrency: int | None,
    *,
    talk: bool,
) -> list[Submitted]:
    if kept.resumed:
        notice(f"The same command was interrupted: going on in experiment {plan.experiment}. Another one: -E NAME")
    if talk:
        say(f"Experiment {plan.experiment}: {cargo.sentence(endpoint.url)}")
    bar = SendBar(cargo.count, quiet=not talk)
    try:
        with connect(endpoint) as client:
            tell_skew(client, endpoint)
            with bar:
                if cargo.task is not None:
                    submitted = [append(client, cargo.task, plan)]
                    bar.submitted(submitted[0])
                else:
                    tasks, tell = cargo.directories, noticing()
                    submitted = submit(client, tasks, plan, concurrency=concurrency, shown=bar, tell=tell)
            with suppress(OddishError):
                if alive_workers(client) == 0:
                    notice(NO_WORKER)
    except KeyboardInterrupt:
        _tell_interrupted(bar, cargo.count, plan, kept)
        raise
    except OddishError as error:
        if nothing_started(error) and not kept.resumed:
            kept.forget()
        raise
    return submitted


def _tell_interrupted(bar: SendBar, total: int, plan: Plan, kept: Resumption) -> None:
    if not bar.accepted:
        say("\nNothing was submitted.", err=True)
        if not kept.resumed:
            kept.forget()
        return
    where = "" if kept.kept else f" with -E {quoted(plan.experiment)}"
    say(
        f"\n{bar.accepted} of {plural(total, 'task')} submitted to experiment {plan.experiment}, "
        f"with {plural(bar.trials, 'new trial')}. They go on.",
        err=True,
    )
    say(f"  To send the rest, and nothing twice:  the same command{where}", err=True)
    say(f"  To stop them:  {command('cancel', '--experiment', plan.experiment)}", err=True)


def _words(endpoint: Endpoint, cargo: Cargo, plan: Plan) -> object:
    said = {field.name: getattr(plan, field.name) for field in fields(plan) if field.name not in NO_WORDS}
    server = LOCAL if endpoint.source == LOCAL else endpoint.url  # a stack of this machine may change its port
    tasks = [cargo.task, *(str(task.resolve()) for task in cargo.directories)]
    return {"server": server, "tasks": tasks, **said}
