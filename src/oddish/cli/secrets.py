"""``oddish secrets``: what an organisation keeps for its trials."""

import os
import sys

import click

from oddish.cli.group import Command
from oddish.cli.options import api_option, json_option
from oddish.cli.output import interrupted, print_json, say
from oddish.cli.session import connect, resolve
from oddish.cli.tables import print_table, table
from oddish.cli.text import age, one_line
from oddish.errors import InvalidInput
from oddish.tasks.characters import variable_flaw

LARGEST = 100_000


@click.group()
def secrets() -> None:
    """Keep credentials for trials. A trial gets those that its agent or its task.toml names."""


@secrets.command("set", cls=Command, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
@click.argument("name")
@click.option("--from-env", is_flag=True, help="Take the value of the variable NAME of this shell.")
@api_option
@json_option
@click.pass_context
def set_(ctx: click.Context, name: str, from_env: bool, api: str | None, as_json: bool) -> None:
    """Keep a value under NAME, in place of a former one.

    The value is asked for, or read from standard input; it is never an argument. Attempts that start from then on
    get it.

    \b
    Examples:
      oddish secrets set OPENAI_API_KEY
      oddish secrets set OPENAI_API_KEY < key.txt
      oddish secrets set OPENAI_API_KEY --from-env
    """
    if ctx.args:
        raise click.UsageError(
            "NAME is the only argument; what follows it is not repeated here. A value is asked for, or read from "
            "standard input: an argument would stay in the history of the shell."
        )
    if variable_flaw(name, ""):
        raise InvalidInput(
            "NAME is no name of a variable: it has letters, digits and underscores, and no digit first.",
            fix="Name the variable that agents or tasks name; what was given is not repeated, for it may be the value.",
        )
    value = _from_shell(name) if from_env else _from_input(name)
    with connect(resolve(api)) as client:
        kept = client.credentials.set(name, value)
    if as_json:
        print_json(kept)
    else:
        say(f"{one_line(kept['name'])} is kept. Trials whose agent or task names it get it.")


@secrets.command(cls=Command)
@api_option
@json_option
def ls(api: str | None, as_json: bool) -> None:
    """List the names. Values are never shown."""
    with connect(resolve(api)) as client:
        found = client.credentials.list()
    if as_json:
        print_json(found)
    elif found["secrets"]:
        shown = table("Name", "Created by", "Created", "Changed", whole=("Name",))
        for entry in found["secrets"]:
            shown.add_row(
                one_line(entry["name"]),
                one_line(entry["created_by"]),
                age(entry["created_at"]),
                age(entry["updated_at"]),
            )
        print_table(shown)
    else:
        say("There are no secrets.")


@secrets.command(cls=Command)
@click.argument("name")
@api_option
@json_option
def rm(name: str, api: str | None, as_json: bool) -> None:
    """Forget NAME. What runs keeps it until it ends."""
    with connect(resolve(api)) as client:
        client.credentials.remove(name)
    if as_json:
        print_json({"status": "deleted", "name": name})
    else:
        say(f"{one_line(name)} is forgotten.")


def _from_shell(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise InvalidInput(f"The variable {name!r} is not set in this shell.", fix="Set it, or leave out --from-env.")
    return value


def _from_input(name: str) -> str:
    """What is typed unseen, or all of standard input but the end of its last line."""
    try:
        if sys.stdin.isatty():
            value: str = click.prompt(f"Value of {one_line(name)}", hide_input=True, err=True)
        else:
            value = sys.stdin.read(LARGEST + 1).removesuffix("\n").removesuffix("\r")
    except click.Abort as abort:
        if interrupted(abort):
            raise
        raise InvalidInput("No value was given, so nothing was kept.") from None
    if not value:
        raise InvalidInput(f"The value of {name!r} is empty.", fix="Give one, or forget it with `oddish secrets rm`.")
    if len(value) > LARGEST:
        raise InvalidInput(f"The value of {name!r} is longer than {LARGEST} characters.")
    return value
