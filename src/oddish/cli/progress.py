"""How a watch looks: a live view on a terminal, one line per change elsewhere."""

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from oddish.cli.output import console, say
from oddish.cli.text import between, number, one_line
from oddish.cli.trials import counts, detail, finished, index, model_label, short_note, succeeded, word
from oddish.cli.watch import Outage, Progress, Snapshot
from oddish.client.types import Trial

if TYPE_CHECKING:
    from rich.console import Group

ORDER = ("queued", "running", "retrying", "success", "failed", "cancelled", "skipped")
SINGLE_LINES = 20
SUMMARY_EVERY = 5.0
SHOWN = 12


def for_output(*, quiet: bool = False) -> Progress:
    if quiet:
        return NoProgress()
    return LiveProgress() if sys.stdout.isatty() else PlainProgress()


def summary(snapshot: Snapshot) -> str:
    done = sum(finished(trial) for trial in snapshot.trials)
    parts = _by_status(snapshot)
    return f"{done}/{len(snapshot.trials)} done" + (f": {parts}" if parts else "")


def _by_status(snapshot: Snapshot) -> str:
    by_status = counts(snapshot.trials)
    return ", ".join(f"{by_status[status]} {status}" for status in ORDER if by_status[status])


class NoProgress:
    """Waits in silence."""

    def update(self, snapshot: Snapshot) -> None:
        """What comes of it is printed by others."""

    def outage(self, outage: Outage) -> None:
        """One that does not end is an error in the end."""

    def close(self) -> None:
        """Nothing was shown."""


class PlainProgress:
    """A line for each change of a trial; for many trials a line of counts now and then."""

    def __init__(self, write: Callable[[str], None] = say, clock: Callable[[], float] = time.monotonic) -> None:
        self._write = write
        self._clock = clock
        self._seen: dict[str, tuple[str, str | None, int]] = {}
        self._summary = ""
        self._summary_at = float("-inf")
        self._lost = False

    def update(self, snapshot: Snapshot) -> None:
        if self._lost:
            self._write("The server answers again.")
            self._lost = False
        if len(snapshot.trials) <= SINGLE_LINES:
            self._changes(snapshot)
        else:
            self._counts(snapshot)

    def outage(self, outage: Outage) -> None:
        self._lost = True
        self._write(f"{one_line(outage.reason)} Trying again in {outage.pause:.0f}s; the trials go on meanwhile.")

    def close(self) -> None:
        """Lines need no clearing away."""

    def _changes(self, snapshot: Snapshot) -> None:
        for trial in snapshot.trials:
            state = (trial["status"], trial.get("harbor_stage"), trial["attempts"])
            if self._seen.get(trial["id"]) != state:
                self._seen[trial["id"]] = state
                self._write(self._line(trial))

    def _line(self, trial: Trial) -> str:
        if succeeded(trial):
            note = short_note(trial)
            return f"{trial['id']}  success  reward {number(trial['reward'])}" + (f"  ({note})" if note else "")
        return f"{trial['id']}  {word(trial)}  {detail(trial)}"

    def _counts(self, snapshot: Snapshot) -> None:
        line = f"{len(snapshot.trials)} trials: {_by_status(snapshot)}"
        due = snapshot.complete or self._clock() - self._summary_at >= SUMMARY_EVERY
        if due and line != self._summary:
            self._summary, self._summary_at = line, self._clock()
            self._write(line)


class LiveProgress:
    """A bar, the counts, and the trials that are under way."""

    def __init__(self) -> None:
        from rich.live import Live

        self._snapshot = Snapshot([], [])
        self._outage: Outage | None = None
        self._live = Live(console=console(), refresh_per_second=4, transient=True, get_renderable=self._render)
        self._live.start()

    def update(self, snapshot: Snapshot) -> None:
        self._snapshot, self._outage = snapshot, None
        self._live.refresh()

    def outage(self, outage: Outage) -> None:
        self._outage = outage
        self._live.refresh()

    def close(self) -> None:
        self._live.stop()

    def _render(self) -> "Group":
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        trials = self._snapshot.trials
        head = Table.grid(padding=(0, 2))
        done = sum(finished(trial) for trial in trials)
        head.add_row(ProgressBar(total=max(1, len(trials)), completed=done, width=30), summary(self._snapshot))
        body = Table.grid(padding=(0, 2))
        active = sorted(
            (trial for trial in trials if not finished(trial)), key=lambda trial: trial["status"] == "queued"
        )
        names = {task["id"]: task["name"] for task in self._snapshot.tasks}
        for trial in active[:SHOWN]:
            name = one_line(names.get(trial["task_id"], trial["task_id"]), 40)
            who = trial["agent"] if trial["model"] is None else f"{trial['agent']} {model_label(trial['model'])}"
            body.add_row(
                f"{name} #{index(trial)}",
                one_line(who, 50),
                Text(trial["status"], style="cyan" if trial["status"] == "running" else "dim"),
                Text(between(trial["started_at"], None) if trial["status"] == "running" else "", style="dim"),
                one_line(detail(trial), 80),
            )
        if len(active) > SHOWN:
            body.add_row(Text(f"and {len(active) - SHOWN} more", style="dim"))
        note = f"{one_line(self._outage.reason)} Trying again; the trials go on meanwhile." if self._outage else ""
        return Group(head, body, *([Text(note, style="yellow")] if note else []))
