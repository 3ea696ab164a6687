"""``oddish ls``: finding tasks."""

from dataclasses import replace

import click

from oddish.browsing import Browse
from oddish.cli.group import Command
from oddish.cli.ls_options import browse_options, words
from oddish.cli.options import api_option, json_option
from oddish.cli.output import print_json, say
from oddish.cli.session import connect, resolve
from oddish.cli.tables import print_table, table
from oddish.cli.text import age, command, joined, number, one_line, plural
from oddish.client.types import BrowseItem, BrowsePage
from oddish.tags import Tag

EXAMPLES = """\b
Examples:
  oddish ls
  oddish ls -q 'django "slow query" -flaky'
  oddish ls --tag benchmark --not-tag wip
  oddish ls -m openai/gpt-5 --min-steps 100 --min-duration 120
  oddish ls --tool bash --tool-min bash=5 --trial-match all
  oddish ls --status failed --finished-after 2026-01-31 --json
"""
NAMES_SHOWN = 3


@click.command(cls=Command, epilog=EXAMPLES)
@click.argument("loose", nargs=-1, metavar="")
@browse_options
@api_option
@json_option
def ls(loose: tuple[str, ...], wanted: Browse, api: str | None, as_json: bool) -> None:
    """List tasks, the newest first, with what the trials of their latest version came to.

    Several filters all have to pass; an option that is repeated, or given several values between commas, takes any of
    them unless it says otherwise.
    """
    if loose:
        raise click.UsageError(f"Words are searched for with -q: {command('ls', '-q', ' '.join(loose))}")
    with connect(resolve(api)) as client:
        if wanted.count_only:
            total = client.browsing.count(wanted)
            if as_json:
                print_json({"total": total})
            else:
                say(plural(total, "task"))
            return
        page = client.browsing.page(wanted)
    if as_json:
        print_json(page)
        return
    _print(page, wanted)


def _print(page: BrowsePage, wanted: Browse) -> None:
    tasks = page["items"]
    if not tasks:
        say(_nothing(wanted))
        return
    numbers = ("Version", "Trials", "Passed", "Mean")
    made = table("Task", *numbers, "Tags", "Last run", "Experiments", right=numbers, whole=("Task", *numbers))
    for task in tasks:
        made.add_row(
            one_line(task["id"]),
            str(task["current_version"]),
            _trials(task),
            f"{task['reward_success']}/{task['reward_total']}" if task["reward_total"] else "–",
            number(task["reward_sum"] / task["reward_total"] if task["reward_total"] else None),
            joined((one_line(Tag(*tag)) for tag in task["user_tags"].items()), NAMES_SHOWN) or "–",
            age(task["last_run_at"]),
            joined((one_line(experiment["name"]) for experiment in task["experiments"]), NAMES_SHOWN) or "–",
        )
    print_table(made)
    if page["has_more"]:
        further = replace(wanted, offset=wanted.offset + len(tasks))
        say(f"\nThere are more; show them with: {command('ls', *words(further))}")


def _nothing(wanted: Browse) -> str:
    if wanted.offset:
        return f"There is no further task from {wanted.offset} on."
    if wanted == replace(Browse(), limit=wanted.limit, sort=wanted.sort):
        return "There is no task yet. Upload and run one with: oddish run examples/hello-world -a oracle"
    return "No task passes these filters."


def _trials(task: BrowseItem) -> str:
    """How many have ended of how many, and how many of them failed."""
    done = task["completed_trials"] + task["failed_trials"]
    failed = f", {task['failed_trials']} failed" if task["failed_trials"] else ""
    return f"{done}/{task['total_trials']}{failed}"
