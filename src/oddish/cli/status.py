"""``oddish status``: the system, a task, a trial or an experiment."""

from dataclasses import replace

import click

from oddish.cli import history, overview, queue
from oddish.cli.details import Details, read_details
from oddish.cli.group import INTERRUPTED, Command
from oddish.cli.lookup import Found, FoundTrial, find, find_experiment
from oddish.cli.options import api_option, json_option
from oddish.cli.output import print_json, say
from oddish.cli.progress import for_output
from oddish.cli.session import connect, resolve
from oddish.cli.text import command
from oddish.cli.views import print_found
from oddish.cli.watch import RETRY, Snapshot, watch_until_done
from oddish.client import Client

EXAMPLES = """\b
Examples:
  oddish status
  oddish status --all
  oddish status hello-world-1a2b3c4d
  oddish status hello-world-1a2b3c4d-0
  oddish status hello-world-1a2b3c4d --detail
  oddish status hello-world-1a2b3c4d --versions --version 2
  oddish status -e keen-otter-x7f2 --watch
  oddish status --queue --stale-after 30

\b
Exit codes:
  0    shown; with --watch: every trial was run and verified (or run, where
       verification is disabled), whatever its reward
  1    not found, or the server cannot be reached; with --watch also: a trial
       failed, was cancelled or skipped; with --queue also: something could
       not be read
  2    the command line cannot be understood
  130  interrupted; the trials go on
"""


@click.command(cls=Command, epilog=EXAMPLES)
@click.argument("reference", metavar="[ID]", required=False)
@click.option("-e", "-E", "--experiment", metavar="EXPERIMENT", help="Show this experiment, by id or name.")
@click.option(
    "-n",
    "--newest",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"List the newest N experiments. Default: {overview.NEWEST}.",
)
@click.option("--all", "everything", is_flag=True, help="List all experiments.")
@click.option(
    "-Q", "--queue", "of_queue", is_flag=True, help="Show the state of the queue and of its workers (scope full)."
)
@click.option(
    "--stale-after",
    type=click.IntRange(*queue.MINUTES),
    metavar="MINUTES",
    help=f"With --queue: a worker without a sign of life for so long is silent. Default: {queue.STALE_AFTER}.",
)
@click.option("--detail", is_flag=True, help="Show what the trials of each version of a task came to and cost.")
@click.option("--versions", "of_versions", is_flag=True, help="List the versions of a task.")
@click.option(
    "--version",
    "number",
    type=click.IntRange(1, 2**31 - 1),
    metavar="N",
    help="With --versions: show this one only.",
)
@click.option("-w", "--watch", is_flag=True, help="Follow the task, trial or experiment until its trials have ended.")
@click.option("-v", "--verbose", is_flag=True, help="More about the system; the ends of a trial's logs.")
@api_option
@json_option
@click.pass_context
def status(
    ctx: click.Context,
    reference: str | None,
    experiment: str | None,
    newest: int | None,
    everything: bool,
    of_queue: bool,
    stale_after: int | None,
    detail: bool,
    of_versions: bool,
    number: int | None,
    watch: bool,
    verbose: bool,
    api: str | None,
    as_json: bool,
) -> None:
    """Show what runs and what came of it.

    Without ID: the system and its newest experiments. ID is that of a trial (a task id, a hyphen and a number), or
    the id or name of a task or, if none has it, of an experiment. With --json there is one snapshot and no watching.
    --queue shows why trials are queued and do not run: limits, slots, backoffs, silent workers, failures.
    """
    if "" in (reference, experiment):
        raise click.UsageError("The ID is empty: give one, or leave it out to see the newest experiments.")
    if reference and experiment:
        raise click.UsageError("Give an ID or --experiment, not both.")
    if of_queue and (reference or experiment or watch or newest or everything):
        raise click.UsageError("--queue shows the whole queue: leave out the ID, --experiment, --newest and --watch.")
    if (detail or of_versions) and (not reference or of_queue or watch):
        raise click.UsageError("--detail and --versions show a task: give its ID, and neither --queue nor --watch.")
    if detail and of_versions:
        raise click.UsageError("Give --detail or --versions, not both.")
    if number is not None and not of_versions:
        raise click.UsageError("--version belongs to --versions.")
    if stale_after is not None and not of_queue:
        raise click.UsageError("--stale-after belongs to --queue.")
    if watch and not (reference or experiment):
        raise click.UsageError("--watch needs a task, a trial or an --experiment to follow.")
    if (newest or everything) and (reference or experiment):
        raise click.UsageError("--newest and --all list experiments: leave out the ID.")
    if newest and everything:
        raise click.UsageError("Give --newest or --all, not both.")
    endpoint = resolve(api)
    watching = watch and not as_json
    with connect(endpoint, retry=RETRY if watching else None) as client:
        if of_queue:
            if not queue.show(client, stale_after=stale_after or queue.STALE_AFTER, as_json=as_json):
                ctx.exit(1)
            return
        if detail and reference:
            history.show_detail(client, reference, as_json=as_json)
            return
        if of_versions and reference:
            history.show_versions(client, reference, number, as_json=as_json)
            return
        if experiment:
            found: Found = find_experiment(client, experiment)
        elif reference:
            found = find(client, reference)
        else:
            limit = None if everything else newest or overview.NEWEST
            overview.show(client, endpoint, limit=limit, verbose=verbose, as_json=as_json)
            return
        if as_json:
            print_json(found.document)
            return
        if watching:
            try:
                where = ["-e", experiment] if experiment else [reference or ""]
                found = _watched(client, found, command("status", *where, "--watch"))
            except KeyboardInterrupt:
                say("\nNo longer watching; the trials go on.", err=True)
                ctx.exit(INTERRUPTED)
        details = Details()
        if isinstance(found, FoundTrial):
            details = read_details(client, found.trial, logs=verbose)
    print_found(found, details)
    if watching and not found.snapshot().successful:
        ctx.exit(1)


def _watched(client: Client, found: Found, come_back: str) -> Found:
    latest = found

    def fetch() -> Snapshot:
        nonlocal latest
        latest = found.again(client)
        return replace(latest.snapshot(), at=client.server_time())

    watch_until_done(fetch, for_output(), come_back)
    return latest
