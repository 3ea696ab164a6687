"""What is said of a pull: while it goes on, and what came of it."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from oddish.cli.lookup import Found
from oddish.cli.output import LINE_EVERY, say
from oddish.cli.tables import print_table, table
from oddish.cli.text import command, one_line, plural
from oddish.cli.versions import not_shown
from oddish.client.archive import size

if TYPE_CHECKING:
    from oddish.client.stored import DebugFiles
    from oddish.pull.manifest import Manifest, TrialReport

SINGLE_LINES = 20
LISTED = 20


class Teller:
    """A line for each trial from which something came; for many trials a line of numbers now and then."""

    def __init__(self, write: Callable[[str], None] = say, clock: Callable[[], float] = time.monotonic) -> None:
        self._write = write
        self._clock = clock
        self._last = clock()

    def __call__(self, report: "TrialReport", done: int, total: int) -> None:
        if total > SINGLE_LINES:
            if done == total or self._clock() - self._last >= LINE_EVERY:
                self._last = self._clock()
                self._write(f"{done} of {total} trials")
        elif report.files_saved:
            saved = f"{plural(report.files_saved, 'file')} ({size(report.bytes_saved)})"
            self._write(f"{one_line(report.trial_id)}  {saved}")


def print_manifest(manifest: "Manifest", found: Found) -> None:
    """The numbers, what is missing and why, and where to look."""
    trials, tasks = manifest.trials, manifest.tasks
    saved, kept = sum(trial.files_saved for trial in trials), sum(trial.files_skipped for trial in trials)
    new = f"{plural(saved, 'file')} saved ({size(sum(trial.bytes_saved for trial in trials))})"
    say(f"{plural(len(trials), 'trial')} in {one_line(manifest.out)}: {new}, {kept} as they were")
    if tasks:
        unpacked = sum(task.task_files_saved for task in tasks)
        say(f"Files of {plural(len(tasks), 'task')}: {unpacked} saved, {len(tasks) - unpacked} as they were")
    without = [trial for trial in trials if trial.note]
    for trial in without[:LISTED]:
        say(f"{one_line(trial.trial_id)}: {one_line(trial.note)}")
    if len(without) > LISTED:
        say(f"and {len(without) - LISTED} more without files")
    for trial in [trial for trial in trials if trial.other_attempts][:LISTED]:
        others = ", ".join(map(str, sorted(trial.other_attempts)))
        where = f"GET /trials/{one_line(trial.trial_id)}/files?attempt=N has those of {others}"
        say(f"{one_line(trial.trial_id)}: the files of attempt {trial.attempt}; {where}")
    if text := not_shown(found.snapshot().tasks):
        say(text)
    for error in manifest.errors[:LISTED]:
        say(f"Not copied: {one_line(error)}", err=True)
    if len(manifest.errors) > LISTED:
        say(f"and {len(manifest.errors) - LISTED} more, in manifest.json there", err=True)
    if any(trial.attempt is not None for trial in trials):
        say(f"Open them in Harbor's viewer: {command('view', manifest.out).replace('oddish', 'harbor', 1)}")


def print_inventory(inventory: "DebugFiles") -> None:
    """The prefixes and objects of a trial, and where they contradict what is known."""
    say(f"Trial {one_line(inventory['trial_id'])}")
    say(f"Stored at   {one_line(inventory['trial_s3_key'] or '–')}")
    say(f"Belongs to  {one_line(inventory['computed_prefix'])}")
    for place in inventory["places"]:
        of = "of no known attempt" if place["attempt"] is None else f"of attempt {place['attempt']}"
        deciding = ", which decided the trial" if place["deciding"] else ""
        say(f"\n{one_line(place['prefix'])}  {of}{deciding}; manifest {one_line(place['manifest'])}")
        made = table("Object", "Bytes", "Modified", "", right=("Bytes",), whole=("Object",))
        unlisted = set(place["unlisted"])
        for item in place["objects"]:
            note = "not in the manifest" if item["key"] in unlisted else ""
            made.add_row(one_line(item["key"]), str(item["size"]), one_line(item["modified_at"]), note)
        for key in place["missing"]:
            made.add_row(one_line(key), "–", "–", "missing")
        print_table(made)
        if not place["complete"]:
            say("There are more.")
