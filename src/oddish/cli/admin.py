"""``oddish admin``: what runs a deployment. ``key`` makes, lists and revokes API keys; ``limits`` is elsewhere."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Literal

import click

from oddish.cli.group import Command
from oddish.cli.limits import limits
from oddish.cli.options import api_option, json_option
from oddish.cli.output import confirmed, print_json, say
from oddish.cli.session import LOCAL, connect, resolve
from oddish.cli.tables import print_table, table
from oddish.cli.text import age, moment, one_line, quoted
from oddish.client.types import ApiKey, NewKey, NewKeyRequest


@click.group()
def admin() -> None:
    """Manage a deployment."""


admin.add_command(limits)


@admin.group()
def key() -> None:
    """Make, list and revoke API keys. This takes a key of scope full.

    A key belongs to a user; the trials of each user have a queue lane of their own.
    """


@key.command(cls=Command)
@click.argument("name")
@click.option(
    "--scope",
    type=click.Choice(["read", "tasks", "full"]),
    default="tasks",
    show_default=True,
    help="read looks, tasks also runs and cancels, full does everything.",
)
@click.option("--expires-in-days", type=click.IntRange(1, 3650), metavar="N", help="Default: it does not expire.")
@click.option("--user", metavar="NAME", help="Whom it is for; made if new. Default: you.")
@click.option("--role", type=click.Choice(["admin", "member"]), help="Of a new user. Default: member.")
@api_option
@json_option
def create(
    name: str,
    scope: Literal["read", "tasks", "full"],
    expires_in_days: int | None,
    user: str | None,
    role: Literal["admin", "member"] | None,
    api: str | None,
    as_json: bool,
) -> None:
    """Make an API key called NAME and show it, this once."""
    request: NewKeyRequest = {"name": name, "scope": scope}
    if expires_in_days is not None:
        request["expires_in_days"] = expires_in_days
    if user is not None:
        request["user"] = user
    if role is not None:
        request["role"] = role
    endpoint = resolve(api)
    with connect(endpoint) as client:
        made = client.keys.create(request)
    if as_json:
        print_json(made)
        return
    say(f"{_described(made)} It is shown this once; whoever has it may use it:")
    say()
    if endpoint.source != LOCAL:
        say(f"  export ODDISH_API_URL={quoted(endpoint.url)}")
    say(f"  export ODDISH_API_KEY={quoted(made['key'])}")


@key.command(cls=Command)
@api_option
@json_option
def ls(api: str | None, as_json: bool) -> None:
    """List the API keys of the organisation, newest first."""
    with connect(resolve(api)) as client:
        found = list(client.keys.list())
    if as_json:
        print_json({"keys": found})
    elif found:
        _print_keys(found)
    else:
        say("There are no keys.")


@key.command(cls=Command)
@click.argument("key_id", metavar="KEY_ID")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@api_option
@json_option
def revoke(key_id: str, yes: bool, api: str | None, as_json: bool) -> None:
    """End an API key at once. KEY_ID is the one that `oddish admin key ls` shows. --json does not ask."""
    question = f"Revoke {one_line(key_id)}? Whoever uses it is refused at once."
    with connect(resolve(api)) as client:
        if not (yes or as_json or confirmed(question, "nothing was revoked", "--yes")):
            say("Nothing was revoked.")
            return
        revoked = client.keys.revoke(key_id)
    if as_json:
        print_json(revoked)
    else:
        say(f"Key {one_line(revoked['id'])} ({one_line(revoked['name'])}, of {one_line(revoked['user'])}) is revoked.")


def _described(made: NewKey) -> str:
    expiry = moment(made["expires_at"])
    until = f", until {expiry:%Y-%m-%d %H:%M} UTC" if expiry else ""
    return f"Key {made['id']} of {one_line(made['user'])} ({made['role']}), scope {made['scope']}{until}."


def _print_keys(found: Iterable[ApiKey]) -> None:
    made = table("Id", "Name", "Key", "Scope", "User", "Role", "Created", "Last used", "State", whole=("Id",))
    for entry in found:
        made.add_row(
            one_line(entry["id"]),
            one_line(entry["name"]),
            f"{one_line(entry['prefix'])}…",
            one_line(entry["scope"]),
            one_line(entry["user"]),
            one_line(entry["role"]),
            age(entry["created_at"]),
            age(entry["last_used_at"]),
            state(entry, datetime.now(UTC)),
        )
    print_table(made)


def state(entry: ApiKey, now: datetime) -> str:
    expiry = moment(entry["expires_at"])
    if entry["revoked_at"]:
        return "revoked"
    if expiry is None:
        return "usable"
    return "expired" if expiry <= now else f"usable until {expiry:%Y-%m-%d}"
