"""``oddish admin limits``: how many trials run at once, of what and of whom."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import click

from oddish.cli.group import Command
from oddish.cli.options import api_option, json_option
from oddish.cli.output import print_json, say
from oddish.cli.session import connect, resolve
from oddish.cli.tables import print_table, table
from oddish.cli.text import number, one_line
from oddish.client.limits import OWN_ARCHIVES, OWN_GATEWAY, OWN_ORGANISATION, provider
from oddish.client.types import Limit, Weight
from oddish.errors import InvalidInput

OVERRIDE = "override"
LARGEST = 1_000_000


def _target(function: Callable[..., None]) -> Callable[..., None]:
    """Options that name what is limited instead of a key, of which ``function`` gets the cap that they name."""

    @click.option("--provider", "provider_name", metavar="NAME", help="A provider over all its keys.")
    @click.option("--archives", is_flag=True, help="The archives that are fetched for these.")
    @click.option("--gateway", is_flag=True, help="The organisation's trials of the gateway.")
    @click.option("--org", is_flag=True, help="The organisation over all keys, not one key.")
    @functools.wraps(function)
    def named(provider_name: str | None, org: bool, gateway: bool, archives: bool, **rest: Any) -> None:
        caps = {
            f"--provider {provider_name}": provider_name and provider(provider_name),
            "--org": OWN_ORGANISATION if org else None,
            "--gateway": OWN_GATEWAY if gateway else None,
            "--archives": OWN_ARCHIVES if archives else None,
        }
        function(caps={option: cap for option, cap in caps.items() if cap}, **rest)

    return named


@click.group()
def limits() -> None:
    """Show and change how many trials run at once. This takes a key of scope full, changes one of an admin.

    A trial counts against a queue key: provider/model of its model, nop_oracle for the agents nop and oracle. An
    override goes before the settings of the deployment and takes effect at once; what runs is left to end.
    """


@limits.command(cls=Command)
@api_option
@json_option
def ls(api: str | None, as_json: bool) -> None:
    """List limits, where each comes from and how much of it is in use."""
    with connect(resolve(api)) as client:
        found = client.limits.list()
    if as_json:
        print_json(found)
        return
    if found["keys"] or found["caps"]:
        _print_limits([*found["keys"], *found["caps"]])
    else:
        say("Nothing has been submitted yet, and nothing is limited by an override.")
    if weights := found.get("weights"):
        say()
        _print_weights(weights)


@limits.command("set", cls=Command)
@click.argument("words", nargs=-1, required=True, metavar="[KEY] N")
@_target
@api_option
@json_option
def set_(words: Sequence[str], caps: Mapping[str, str], api: str | None, as_json: bool) -> None:
    """Let at most N of KEY run at once, or of --provider NAME, --org, --gateway or --archives. 0 stops them."""
    key, limit = _key_and_limit(words)
    cap = _cap(key, caps)
    with connect(resolve(api)) as client:
        changed = client.limits.set(limit, key=key, cap=cap)
    _report(changed, as_json)


@limits.command(cls=Command)
@click.argument("key", required=False)
@_target
@api_option
@json_option
def unset(key: str | None, caps: Mapping[str, str], api: str | None, as_json: bool) -> None:
    """Return to the deployment's limit of KEY, or of --provider NAME, --org, --gateway or --archives."""
    cap = _cap(key, caps)
    with connect(resolve(api)) as client:
        changed = client.limits.set(None, key=key, cap=cap)
    _report(changed, as_json)


@limits.command(cls=Command)
@click.argument("key")
@api_option
@json_option
def pause(key: str, api: str | None, as_json: bool) -> None:
    """Begin no more trials of KEY until it is resumed."""
    with connect(resolve(api)) as client:
        changed = client.limits.pause(key, paused=True)
    _report(changed, as_json)


@limits.command(cls=Command)
@click.argument("key")
@api_option
@json_option
def resume(key: str, api: str | None, as_json: bool) -> None:
    """Begin trials of KEY again."""
    with connect(resolve(api)) as client:
        changed = client.limits.pause(key, paused=False)
    _report(changed, as_json)


@limits.command(cls=Command)
@click.argument("user")
@click.argument("weight", type=click.FloatRange(0.01, 100))
@api_option
@json_option
def weight(user: str, weight: float, api: str | None, as_json: bool) -> None:
    """Give USER a WEIGHT beside other users of the same keys: 1 by default, 2 is twice as many slots."""
    with connect(resolve(api)) as client:
        changed = client.limits.weigh(user, weight)
    if as_json:
        print_json(changed)
    else:
        say(f"{one_line(changed['user'])} has weight {number(changed['weight'])}.")


def _key_and_limit(words: Sequence[str]) -> tuple[str | None, int]:
    """Of ``KEY N`` or ``N``."""
    *before, last = words
    if len(before) > 1 or not (last.isascii() and last.isdecimal()) or int(last) > LARGEST:
        raise InvalidInput(
            f"{' '.join(words)!r} is not a queue key and a number from 0 to {LARGEST}.",
            fix="Write `set KEY N`, or `set N` with --provider NAME, --org, --gateway or --archives; `unset` removes a "
            "limit.",
        )
    return (before[0] if before else None), int(last)


def _cap(key: str | None, caps: Mapping[str, str]) -> str | None:
    """The cap that is named; None when a key is. Raises ``InvalidInput`` unless exactly one of them is."""
    named = [*([key] if key else []), *caps]
    if len(named) != 1:
        raise InvalidInput(
            f"{' and '.join(named)} name more than one limit." if named else "Nothing says whose limit changes.",
            fix="Name one of a queue key such as openai/gpt-5, --provider NAME, --org, --gateway and --archives.",
        )
    return next(iter(caps.values()), None)


def _report(changed: Limit, as_json: bool) -> None:
    if as_json:
        print_json(changed)
    else:
        say(sentence(changed))


def sentence(entry: Limit) -> str:
    """What holds for a key or a cap now."""
    subject = one_line(entry["queue_key"] or entry["cap"])
    running = f"running now: {entry['running']}"
    if entry["limit"] is None:
        return f"{subject} has no limit; {running}."
    paused = ", and is paused" if entry["paused"] else ""
    return f"{subject} has limit {entry['limit']} ({origin(entry)}){paused}; {running}."


def origin(entry: Limit) -> str:
    """Where a limit comes from, and what it would be without."""
    source = entry.get("source")
    if source != OVERRIDE:
        return one_line(source or "–")
    under = "no limit" if entry["deploy_limit"] is None else str(entry["deploy_limit"])
    return f"{OVERRIDE}; deployment: {under}"


def _print_limits(found: Iterable[Limit]) -> None:
    made = table("Key or cap", "Limit", "Running", "From", "State", right=("Limit", "Running"), whole=("Key or cap",))
    for entry in found:
        made.add_row(
            one_line(entry["queue_key"] or entry["cap"]),
            "none" if entry["limit"] is None else str(entry["limit"]),
            str(entry["running"]),
            origin(entry),
            state(entry),
        )
    print_table(made)


def state(entry: Limit) -> str:
    if entry["paused"]:
        return "paused"
    if entry["limit"] is None or entry["running"] < entry["limit"]:
        return "open"
    return "full" if entry["limit"] else "stopped"


def _print_weights(found: Iterable[Weight]) -> None:
    made = table("User", "Weight", right=("Weight",))
    for entry in found:
        made.add_row(one_line(entry["user"]), number(entry["weight"]))
    print_table(made)
