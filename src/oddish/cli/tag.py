"""``oddish tag``: what a task is found by."""

from collections.abc import Mapping, Sequence

import click

from oddish.cli.group import Command
from oddish.cli.lookup import of_task
from oddish.cli.options import api_option, json_option
from oddish.cli.output import print_json, say
from oddish.cli.session import connect, resolve
from oddish.cli.text import one_line
from oddish.client.types import Tagged
from oddish.tags import Tag, as_object

SIGNS = ("+", "-")
EXAMPLES = """\b
Examples:
  oddish tag hello-world-1a2b3c4d +benchmark +suite=nightly
  oddish tag hello-world-1a2b3c4d -wip
  oddish tag hello-world-1a2b3c4d
"""


@click.command(
    cls=Command,
    epilog=EXAMPLES,
    context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]},
)
@click.argument("reference", metavar="TASK")
@click.argument("changes", metavar="[+NAME[=VALUE]|-NAME]...", nargs=-1, type=click.UNPROCESSED)
@api_option
@json_option
def tag(reference: str, changes: tuple[str, ...], api: str | None, as_json: bool) -> None:
    """Add tags to TASK, an id or name, take tags away, or show those it has.

    A task has one value of each tag, so +NAME=VALUE replaces the former one. Names that the task does not have are
    taken away without a complaint.
    """
    if reference.startswith(SIGNS):
        raise click.UsageError(f"Name the task first, then {reference}.")
    added, removed = _read(changes)
    with connect(resolve(api)) as client:
        if added or removed:
            found = of_task(client, reference, lambda task_id: client.tags.change(task_id, add=added, remove=removed))
        else:
            task = of_task(client, reference, client.task)
            found = Tagged(task_id=task["id"], name=task["name"], user_tags=task.get("user_tags") or {})
    if as_json:
        print_json(found)
    else:
        say(f"Task {one_line(found['task_id'])}  {_listed(found['user_tags']) or 'has no tags'}")


def _read(changes: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """What to add and what to take away. Raises ``InvalidTag``, or ``click.UsageError`` for what is neither."""
    added, removed = [], []
    for change in changes:
        sign, said = change[:1], change[1:]
        if sign == "+":
            added.append(Tag.of(said))
        elif sign == "-" and said and "=" not in said:
            removed.append(said)
        else:
            raise click.UsageError(f"{change!r} changes no tag: write +NAME, +NAME=VALUE or -NAME.")
    if both := sorted({tag.name for tag in added} & set(removed)):
        raise click.UsageError(f"The tag {both[0]} is to be added and taken away: do one of them.")
    return as_object(added), removed


def _listed(tags: Mapping[str, str]) -> str:
    return ", ".join(one_line(Tag(name, value)) for name, value in sorted(tags.items()))
