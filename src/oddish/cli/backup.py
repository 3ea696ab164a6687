"""``oddish backup`` and ``oddish restore``: keep what this machine's stack has, and bring it back."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click

from oddish.cli.group import Command
from oddish.cli.options import json_option
from oddish.cli.output import confirmed, notice, print_json, say
from oddish.cli.text import plural
from oddish.errors import Conflict, InvalidInput, NotFound, OddishError, Unavailable
from oddish.stack import client as stack_client

_ERRORS: dict[str, type[OddishError]] = {error.code: error for error in (InvalidInput, NotFound, Conflict)}


def _named(context: click.Context, parameter: click.Parameter, value: str) -> Path:
    """An empty name would be that of the current directory, as a variable that is not set makes it."""
    if not value:
        raise click.BadParameter("it is empty; name the directory that keeps backups.", context, parameter)
    return Path(value)


@click.command(cls=Command)
@click.argument("directory", type=click.Path(file_okay=False), callback=_named)
@click.option("--with-store", is_flag=True, help="Also the files: archives of tasks, and what attempts left behind.")
@click.option("--with-key", is_flag=True, help="Also the secret key. Whoever has the backup can then read all secrets.")
@json_option
def backup(directory: Path, with_store: bool, with_key: bool, as_json: bool) -> None:
    """Back up this machine's database into DIRECTORY, each time under the current time.

    \b
    It works while trials run. A backup is complete by itself:
      backup.json    what is in it, and its sums
      database.dump  the database, in PostgreSQL's custom format
      store/         with --with-store; files that the last backup in DIRECTORY has take no further room
      secret.key     with --with-key; stored secrets can be read with this key only

    \b
    Exit codes:
      0  the backup was made, also when the store lacks files that the database names, which is said
      1  it was not made
    """
    _refuse_remote()
    options = [*(["--with-store"] if with_store else []), *(["--with-key"] if with_key else [])]
    made = _work("take", directory, options)
    if as_json:
        print_json(made)
        return
    say(f"{made['backup']}: {_rows(made)}, {_size(made['dump_bytes'])}.")
    if made["list_sha256"] is not None:
        say(f"With {plural(made['files'], 'file')}, {_size(made['file_bytes'])}.")
    else:
        say(f"The files are not in it; they are in {made['store_url']}. --with-store copies them.")
    for state in ("missing", "damaged"):
        if made[state]:
            notice(f"Of what the database names, {state} in the store: {_listed(made[state])}.")
    if made["key_included"]:
        say("The secret key is in it: keep it where nobody else can read it.")
    elif made["key_id"]:
        say("The secret key is not in it, and stored secrets cannot be read without: keep a copy of it elsewhere.")


@click.command(cls=Command)
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--replace", is_flag=True, help="Put it in the place of a database that is in use, which is kept beside.")
@click.option("-y", "--yes", is_flag=True, help="Stop a running stack without a question.")
@json_option
def restore(directory: Path, replace: bool, yes: bool, as_json: bool) -> None:
    """Restore a backup, or the newest one in DIRECTORY, as this machine's database.

    Files and the secret key that are in the backup are restored with it. Restore only what you have backed up yourself:
    a backup can hold statements that run as the owner of the database.
    """
    _refuse_remote()
    _stop_stack(yes)
    done = _work("restore", directory, ["--replace"] if replace else [])
    if as_json:
        print_json(done)
        return
    say(f"Restored {done['backup']}: {_rows(done)}.")
    for path in done["kept"]:
        say(f"What was there before is kept in {path}.")
    if done["damaged"]:
        notice(f"Left out, because they are damaged in the backup: {_listed(done['damaged'])}.")
    if done["list_sha256"] is None:
        say(f"The files were not in it; they were in {done['store_url']}.")
    if not done["secrets_readable"]:
        notice("Stored secrets cannot be read with the secret key that is here. Restore the key, or set them again.")


def _refuse_remote() -> None:
    if source := next((name for name in ("ODDISH_API_URL", "ODDISH_PREVIEW_PR") if os.environ.get(name)), None):
        raise InvalidInput(
            f"{source} names a server, and only what oddish keeps on this machine is backed up and restored here.",
            fix=f"Use the tools of that server's database and store, or unset {source}.",
        )


def _stop_stack(yes: bool) -> None:
    stack = stack_client.find()
    if stack is None:
        return
    question = "The stack is running, and has to stop for this; trials that run begin again later. Stop it?"
    if not yes and not confirmed(question, "nothing was restored", "--yes"):
        raise InvalidInput("The stack is running, so nothing was restored.", fix="Stop it with: oddish down")
    notice(str(stack_client.stop()))


def _work(action: str, directory: Path, options: list[str]) -> dict[str, Any]:
    """What ``python -m oddish.backup`` has done. Raises what it refused."""
    command = [sys.executable, "-P", "-m", "oddish.backup", action, str(directory.absolute()), *options]
    answer = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
    try:
        document: dict[str, Any] = json.loads(answer.stdout)
    except ValueError as error:
        raise Unavailable(f"It ended early, with status {answer.returncode}.", fix="Its reason is above.") from error
    if "error" in document:
        raise _ERRORS.get(document["code"], Unavailable)(document["error"], fix=document["fix"])
    return document


def _rows(document: dict[str, Any]) -> str:
    return f"{plural(document['tasks'], 'task')} and {plural(document['trials'], 'trial')}"


def _listed(keys: list[str]) -> str:
    more = f" and {plural(len(keys) - 1, 'other')}" if len(keys) > 1 else ""
    return f"{keys[0]}{more}"


def _size(count: int) -> str:
    return f"{count / 1024**2:.1f} MiB"
