"""``oddish up``, ``down``, ``server`` and ``worker``: the processes behind the commands."""

import os
import sys
from typing import NoReturn

import click

from oddish.cli.group import Command
from oddish.cli.output import notice, say
from oddish.stack import client as stack_client

SHARED = (
    f"{stack_client.DATABASE_URL} is set, so this stack works on that database: its worker takes trials from there, "
    "and its server has the rules of one machine, not those of a deployment."
)


@click.command(cls=Command)
@click.option("--foreground", is_flag=True, help="Stay in this terminal and show the logs; Ctrl-C stops everything.")
def up(foreground: bool) -> None:
    """Start oddish on this machine: a private PostgreSQL, the API server and a worker.

    Other commands do this by themselves. It stops by itself when it has been idle for a while.

    With ODDISH_DATABASE_URL set it uses that database instead of one of its own, and only this command starts it.
    """
    if stack_client.database_elsewhere() and stack_client.find() is None:
        notice(SHARED)
    if foreground:
        _become("oddish.stack", {})
    stack = stack_client.ensure(say=notice)
    for line in (*stack.state.notes, *stack.notices()):
        notice(line)
    say(f"oddish runs at {stack.url}. Stop it with: oddish down")


@click.command(cls=Command)
def down() -> None:
    """Stop what `oddish up` or another command has started on this machine. Data is kept."""
    say(str(stack_client.stop()))


@click.command(cls=Command)
@click.option("--host", help="Address to listen on.")
@click.option("--port", type=click.IntRange(1, 65535), help="Port to listen on.")
def server(host: str | None, port: int | None) -> None:
    """Run the API server. Settings come from ODDISH_* variables; ODDISH_DATABASE_URL names the database."""
    _become("oddish.api", {"ODDISH_HOST": host, "ODDISH_PORT": port})


@click.command(cls=Command)
@click.option("--concurrency", type=click.IntRange(min=1), metavar="N", help="Trials that may run at a time.")
def worker(concurrency: int | None) -> None:
    """Run a worker. Settings come from ODDISH_* variables; ODDISH_DATABASE_URL names the database."""
    _become("oddish.worker", {"ODDISH_WORKER_CONCURRENCY": concurrency})


def _become(module: str, settings: dict[str, str | int | None]) -> NoReturn:
    """Replace this process: the command line imports nothing of the server."""
    environ = os.environ | {name: str(value) for name, value in settings.items() if value is not None}
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, "-P", "-m", module], environ)  # noqa: S606
