"""``oddish logs``: what an agent says, does and costs."""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from oddish.cli.group import INTERRUPTED, Command
from oddish.cli.lookup import FoundTrial, find
from oddish.cli.options import api_option
from oddish.cli.output import say
from oddish.cli.progress import trial_line
from oddish.cli.session import PATIENT, connect, resolve
from oddish.cli.spending import spent
from oddish.cli.telling import JsonLines, Readable, Teller, ended, stored
from oddish.cli.text import command, joined
from oddish.cli.trials import detail, finished, never_ran, succeeded, waiting
from oddish.cli.waits import Waits
from oddish.client import Client
from oddish.client.transcripts import read_transcript
from oddish.client.types import Trial
from oddish.errors import Conflict, NotFound

if TYPE_CHECKING:
    from oddish.client.live import News

EXAMPLES = """\b
Examples:
  oddish logs hello-world-1a2b3c4d-0
  oddish logs hello-world-1a2b3c4d-0 --follow
  oddish logs hello-world-1a2b3c4d-0 --finished

\b
Exit codes:
  0    shown; with --follow: the trial was run and verified (or run, where
       verification is disabled), whatever its reward
  1    not found, or the server cannot be reached; with --follow also: the
       trial failed, was cancelled or skipped
  2    the command line cannot be understood
  130  interrupted; the trial goes on
"""


@dataclass
class Told:
    said: bool = False
    incomplete: bool = False
    """The last attempt that was told of said more than is shown live."""
    usage: Mapping[str, object] = field(default_factory=dict)
    """The last that was told of."""


@click.command(cls=Command, epilog=EXAMPLES)
@click.argument("reference", metavar="TRIAL")
@click.option("-f", "--follow", is_flag=True, help="Go on until the trial has ended.")
@click.option("--finished", "has_ended", is_flag=True, help="Of a trial that has ended: what its files say it was.")
@api_option
@click.option("--json", "as_json", is_flag=True, help="Print each event, and each state, as one line of JSON.")
@click.pass_context
def logs(ctx: click.Context, reference: str, follow: bool, has_ended: bool, api: str | None, as_json: bool) -> None:
    """Show what the agent of a trial says and does, and the tokens and cost of that so far.

    While it runs the cost is an estimate, marked with ~. When a trial is run again its transcript begins anew. A minute
    after it has ended only its files have it: --finished reads them.
    """
    if follow and has_ended:
        raise click.UsageError("Give --follow or --finished, not both: what has ended cannot be followed.")
    readable = None if as_json else Readable()
    teller: Teller = readable or JsonLines()
    with connect(resolve(api), retry=PATIENT if follow else None) as client:
        trial = _trial(client, reference)
        if has_ended:
            _tell_stored(client, trial, teller)
            told = Told(said=True, usage=trial)
        else:
            try:
                waits = Waits(client, trial["id"], readable) if follow and readable else None
                quiet = waits.look if waits else None
                live = client.live
                news = live.follow(trial["id"], quiet=quiet) if follow else live.so_far(trial["id"])
                told = _tell(news, teller, waits)
            except KeyboardInterrupt:
                say("\nNo longer following; the trial goes on.", err=True)
                ctx.exit(INTERRUPTED)
            trial = client.trial(trial["id"])
    if not as_json:
        _conclude(trial, told)
    if follow and not succeeded(trial):
        ctx.exit(1)


def _trial(client: Client, reference: str) -> Trial:
    """Raises ``NotFound``, with trials to choose from where a task or an experiment is named."""
    found = find(client, reference)
    if isinstance(found, FoundTrial):
        return found.trial
    trials = found.snapshot().trials
    running = [trial["id"] for trial in trials if not finished(trial) and trial["status"] == "running"]
    some = running or [trial["id"] for trial in trials]
    kind = "running trials" if running else "trials"
    listed = f"Its {kind}: {joined(some)}. As in: {command('logs', some[0], '-f')}" if some else "It has no trials."
    raise NotFound(f"{reference!r} names no trial, and logs are shown of one.", fix=listed)


def _tell(news: "Iterable[News]", teller: Teller, waits: Waits | None) -> Told:
    told = Told()
    try:
        for entry in news:
            if "kind" in entry:
                told.said, told.incomplete = True, entry["payload"].get("incomplete") is True
                teller.said(entry)
            else:
                told.usage = entry["usage"]
                teller.state(entry)
                if waits is not None:
                    waits.state(entry)
    finally:
        teller.close()
    return told


def _tell_stored(client: Client, trial: Trial, teller: Teller) -> None:
    """What the files of the attempt say that decided the trial. Raises ``Conflict`` before it has ended."""
    if not finished(trial):
        raise Conflict(
            f"{trial['id']} has not ended, so its files are not stored yet.",
            fix=f"See what it does now: {command('logs', trial['id'], '-f')}",
        )
    listing = client.evidence.files(trial["id"])
    attempt = listing.get("attempt", 1)
    numbers = itertools.count(1)
    try:
        read_transcript(
            client.evidence,
            trial["id"],
            trial["agent"],
            listing,
            lambda event: teller.said(stored(next(numbers), attempt, event)),
        )
        teller.state(ended(trial, attempt))
    finally:
        teller.close()


def _conclude(trial: Trial, told: Told) -> None:
    """What it took, what became of it, and where the rest is."""
    if (line := (spent(trial) if finished(trial) else None) or spent(told.usage)) is not None:
        say(line)
    if not finished(trial):
        if not told.said:
            say(f"Nothing was said yet: {detail(trial)}")
        elif waiting(trial):
            say(f"It waits: {detail(trial)}")
        say(f"Follow it: {command('logs', trial['id'], '-f')}", err=True)
        return
    say(trial_line(trial))
    if never_ran(trial):
        say("It never ran: nothing was said, and there are no files.")
        return
    if told.incomplete or not told.said:
        what = "All that was said:" if told.incomplete else "What was said:"
        say(f"{what}  {command('logs', trial['id'], '--finished')}")
    say(f"All its files:  {command('pull', trial['id'])}")
