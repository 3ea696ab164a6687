"""``oddish up``, ``down``, ``server`` and ``worker``: the processes behind the commands."""

import os
from http import HTTPStatus

import click

from oddish.cli.group import Command
from oddish.cli.options import json_option
from oddish.cli.output import notice, print_json, say
from oddish.cli.process import become
from oddish.client import Client
from oddish.client.errors import ApiError
from oddish.errors import Conflict
from oddish.stack import client as stack_client

SHARED = (
    f"{stack_client.DATABASE_URL} is set, so this stack works on that database: its worker takes trials from there, "
    "and its server has the rules of one machine, not those of a deployment."
)

LOG_FORMAT = "ODDISH_LOG_FORMAT"
DEV_KEY = "ODDISH_DEV_KEY"

json_logs_option = click.option("--json", "as_json", is_flag=True, help="Write log lines as JSON.")


@click.command(cls=Command)
@click.option("--foreground", is_flag=True, help="Stay in this terminal and show the logs; Ctrl-C stops everything.")
@click.option(
    "--dev-key",
    metavar="KEY",
    help="Accept this key, too, as long as it runs. Whoever uses this machine and guesses it may run trials.",
)
@json_option
def up(foreground: bool, dev_key: str | None, as_json: bool) -> None:
    """Start oddish on this machine: a private PostgreSQL, the API server and a worker.

    Other commands do this by themselves. It stops by itself when it has been idle for a while.

    With ODDISH_DATABASE_URL set it uses that database instead of one of its own, and only this command starts it.
    """
    if stack_client.database_elsewhere() and stack_client.find() is None:
        notice(SHARED)
    settings = {} if dev_key is None else {DEV_KEY: dev_key}
    if foreground:
        become("oddish.stack", settings={**settings, LOG_FORMAT: _shape(as_json)})
    os.environ |= settings
    stack = stack_client.ensure(say=notice)
    if dev_key is not None:
        _check_accepted(stack.url, dev_key)
    notes = [*stack.state.notes, *stack.notices()]
    if as_json:
        print_json({"url": stack.url, "pid": stack.pid, "version": stack.version, "notes": notes})
        return
    for line in notes:
        notice(line)
    say(f"oddish runs at {stack.url}. Stop it with: oddish down")


def _check_accepted(url: str, dev_key: str) -> None:
    """Raises ``Conflict`` where the stack was running before, without it."""
    with Client(url, dev_key) as client:
        try:
            client.load()
        except ApiError as error:
            if error.http_status != HTTPStatus.UNAUTHORIZED:
                raise
            raise Conflict(
                f"The stack at {url} was running already, and does not accept this key.",
                fix="Run 'oddish down', then this again.",
            ) from None


@click.command(cls=Command)
@json_option
def down(as_json: bool) -> None:
    """Stop what `oddish up` or another command has started on this machine. Data is kept."""
    stopped = stack_client.stop()
    if as_json:
        print_json({"pid": stopped.pid, "killed": [entry.pid for entry in stopped.killed]})
    else:
        say(str(stopped))


@click.command(cls=Command)
@click.option("--host", help="Address to listen on.")
@click.option("--port", type=click.IntRange(1, 65535), help="Port to listen on.")
@json_logs_option
def server(host: str | None, port: int | None, as_json: bool) -> None:
    """Run the API server. Settings come from ODDISH_* variables; ODDISH_DATABASE_URL names the database."""
    become("oddish.api", settings={"ODDISH_HOST": host, "ODDISH_PORT": port, LOG_FORMAT: _shape(as_json)})


@click.command(cls=Command)
@click.option("--concurrency", type=click.IntRange(min=1), metavar="N", help="Trials that may run at a time.")
@json_logs_option
def worker(concurrency: int | None, as_json: bool) -> None:
    """Run a worker. Settings come from ODDISH_* variables; ODDISH_DATABASE_URL names the database."""
    become("oddish.worker", settings={"ODDISH_WORKER_CONCURRENCY": concurrency, LOG_FORMAT: _shape(as_json)})


def _shape(as_json: bool) -> str | None:
    return "json" if as_json else None
