"""``oddish pull``: trials and tasks of a server, copied to this machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from oddish.cli.group import INTERRUPTED, Command
from oddish.cli.lookup import Found, FoundTask, FoundTrial, find, find_experiment, find_task, find_trial
from oddish.cli.options import api_option, json_option
from oddish.cli.output import notice, print_json, say
from oddish.cli.pulled import Teller, print_inventory, print_manifest
from oddish.cli.session import connect, resolve
from oddish.cli.text import command, one_line
from oddish.cli.watch import RETRY, Outage, Snapshot, follow
from oddish.client import Client
from oddish.errors import NotFound

if TYPE_CHECKING:
    from oddish.pull.manifest import Manifest
    from oddish.pull.pull import Pull, Target

INTERVAL = 5.0
BASE = Path(".oddish")

type Kind = Literal["trial", "task", "experiment"]

EXAMPLES = """\b
Examples:
  oddish pull hello-world-1a2b3c4d-0
  oddish pull hello-world-1a2b3c4d --include-task-files --out ./downloads
  oddish pull keen-otter-x7f2 --type experiment --watch
  oddish pull hello-world-1a2b3c4d-0 --debug-files
  harbor view .oddish/hello-world-1a2b3c4d

\b
Exit codes:
  0    everything is here
  1    not found, the server cannot be reached, the disk is full, or some file
       could not be copied; the command can be repeated and goes on where it was
  2    the command line cannot be understood
  130  interrupted; the same holds
"""


@click.command(cls=Command, epilog=EXAMPLES)
@click.argument("reference", metavar="TARGET")
@click.option(
    "--type",
    "kind",
    type=click.Choice(["trial", "task", "experiment"]),
    help="What TARGET is the id of. Otherwise it is looked for in this order.",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="PATH",
    help="Directory to fill. Default: .oddish/TARGET here.",
)
@click.option("--logs/--no-logs", default=True, show_default=True, help="Save the ends of all logs in one logs.txt.")
@click.option(
    "--files/--no-files",
    default=True,
    show_default=True,
    help="Copy all files of the trials. Without: only Harbor's config.json and result.json.",
)
@click.option("--structured", is_flag=True, help="Save the logs by who wrote them, too, in logs_structured.json.")
@click.option("--include-task-files", is_flag=True, help="Copy the files of the tasks, in the versions that were run.")
@click.option(
    "--debug-files",
    is_flag=True,
    help="Copy nothing; list what the object store holds of a trial, beside what the server says of it.",
)
@click.option("-w", "--watch", is_flag=True, help="Go on until all trials have ended.")
@click.option(
    "--interval",
    type=click.FloatRange(min=0.5),
    metavar="SECONDS",
    help=f"With --watch: the pause between two looks. Default: {INTERVAL:g}.",
)
@api_option
@json_option
@click.pass_context
def pull(
    ctx: click.Context,
    reference: str,
    kind: Kind | None,
    out: Path | None,
    logs: bool,
    files: bool,
    structured: bool,
    include_task_files: bool,
    debug_files: bool,
    watch: bool,
    interval: float | None,
    api: str | None,
    as_json: bool,
) -> None:
    """Copy the files of a trial, of a task's trials or of an experiment to this machine.

    TARGET is the id of a trial, or the id or name of a task or an experiment. The directory holds what Harbor would
    have written: DIRECTORY/trials is a job that `harbor view DIRECTORY` opens. What is there already with the same size
    and hash is not copied again, so the command can be repeated. --json prints what was done as one document.
    """
    if interval is not None and not watch:
        raise click.UsageError("--interval belongs to --watch.")
    if include_task_files and not files:
        raise click.UsageError("--include-task-files and --no-files contradict each other.")
    if debug_files and (kind not in (None, "trial") or watch or include_task_files or out or structured):
        raise click.UsageError("--debug-files lists what is stored of one trial and copies nothing.")
    with connect(resolve(api), retry=RETRY if watch else None) as client:
        if debug_files:
            inventory = client.evidence.inventory(reference)
            if as_json:
                print_json(inventory)
            else:
                print_inventory(inventory)
            return
        found = _find(client, reference, kind)
        directory = out or default_directory(found)
        try:
            with pulling(client, directory, logs=logs, files=files, structured=structured, quiet=as_json) as pull_of:
                fetch = Fetch(client, pull_of, found, with_task_files=include_task_files)
                if watch:
                    come_back = command("pull", reference, "--watch", "--out", str(directory))
                    _follow(fetch, come_back, interval or INTERVAL)
                manifest = fetch.manifest or fetch.once()
        except KeyboardInterrupt:
            if as_json:
                raise
            say("\nInterrupted. Run the command again: it goes on where it was.", err=True)
            ctx.exit(INTERRUPTED)
    if as_json:
        print_json(manifest.document)
    else:
        print_manifest(manifest, fetch.found)
    if manifest.errors:
        ctx.exit(1)


class Fetch:
    """Reads the target and copies what there is of it by now."""

    def __init__(self, client: Client, pulling: "Pull", found: Found, *, with_task_files: bool) -> None:
        self.found = found
        self.manifest: Manifest | None = None
        self._client = client
        self._pulling = pulling
        self._with_task_files = with_task_files

    def once(self) -> "Manifest":
        target = _target(self._client, self.found, with_task_files=self._with_task_files)
        self.manifest = self._pulling.pull(target, self._client.server_time())
        return self.manifest

    def again(self) -> Snapshot:
        self.found = self.found.again(self._client)
        self.once()
        return self.found.snapshot()


def _follow(fetch: Fetch, come_back: str, interval: float) -> None:
    for event in follow(fetch.again, come_back, interval=interval):
        if isinstance(event, Outage):
            notice(f"{one_line(event.reason)} Trying again in {event.pause:.0f}s.")


@contextmanager
def pulling(
    client: Client, directory: Path, *, logs: bool, files: bool, structured: bool, quiet: bool
) -> "Iterator[Pull]":
    from oddish.pull.folder import Folder
    from oddish.pull.pull import Pull
    from oddish.pull.trial import Wanted

    wanted = Wanted(logs=logs, files=files, structured=structured)
    with Folder(directory) as folder:
        yield Pull(client, folder, wanted, (lambda *_: None) if quiet else Teller())


def _find(client: Client, reference: str, kind: Kind | None) -> Found:
    if kind is None:
        return find(client, reference)
    if kind == "experiment":
        return find_experiment(client, reference)
    found = find_trial(client, reference) if kind == "trial" else find_task(client, reference)
    if found is None:
        raise NotFound(f"{reference!r} is no {kind} here.", fix="Leave --type out to have it looked for everywhere.")
    return found


def default_directory(found: Found) -> Path:
    """Called by the id of the target, or by the name of an experiment where that can be one of a directory."""
    from oddish.pull.names import UnsafeName, single

    if isinstance(found, FoundTrial):
        return BASE / single(found.trial["id"])
    if isinstance(found, FoundTask):
        return BASE / single(found.task["id"])
    try:
        return BASE / single(found.reference)
    except UnsafeName:
        return BASE / single(found.tasks[0]["experiment_id"] or "experiment")


def _target(client: Client, found: Found, *, with_task_files: bool) -> "Target":
    from oddish.pull.pull import Target

    trials = found.snapshot().trials
    if isinstance(found, FoundTrial):
        task = client.task(found.trial["task_id"]) if with_task_files else None
        files = [(task, found.trial.get("task_version"))] if task else []
        return Target("trial", found.trial["id"], trials, files)
    tasks = [found.task] if isinstance(found, FoundTask) else found.tasks
    files = [(task, task.get("trial_version")) for task in tasks] if with_task_files else []
    if isinstance(found, FoundTask):
        return Target("task", found.task["id"], trials, files)
    return Target("experiment", found.reference, trials, files)
