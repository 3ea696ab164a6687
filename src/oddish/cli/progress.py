"""How a watch looks: a live view on a terminal, one line per change elsewhere."""

import os
import sys
import time
from collections.abc import Callable
from typing import TextIO

from oddish.cli.output import LINE_EVERY, say
from oddish.cli.tally import left, tally
from oddish.cli.text import number, one_line, plural
from oddish.cli.trials import NOT_VERIFIED, detail, short_note, succeeded, unverified, word
from oddish.cli.watch import GIVE_UP_AFTER, Outage, Progress, Snapshot
from oddish.client.types import Trial

SINGLE_LINES = 20
PATIENCE = f"The watch ends after {GIVE_UP_AFTER / 60:.0f} minutes without an answer."


def is_terminal(stream: TextIO) -> bool:
    """Whether something can be drawn on it that moves."""
    return stream.isatty() and os.environ.get("TERM", "").lower() not in ("", "dumb", "unknown")


def for_output(*, quiet: bool = False) -> Progress:
    if quiet:
        return NoProgress()
    if not is_terminal(sys.stdout):
        return PlainProgress()
    from oddish.cli.live import LiveProgress

    return LiveProgress()


def summary(snapshot: Snapshot) -> str:
    found = tally(snapshot.trials)
    parts = found.by_status()
    return f"{found.done}/{found.total} done" + (f": {parts}" if parts else "")


def trial_line(trial: Trial) -> str:
    """A trial, what has become of it, and why."""
    if succeeded(trial):
        note = short_note(trial)
        reward = NOT_VERIFIED if unverified(trial) else f"reward {number(trial['reward'])}"
        return f"{trial['id']}  success  {reward}" + (f"  ({note})" if note else "")
    return f"{trial['id']}  {word(trial)}  {detail(trial)}"


class NoProgress:
    """Waits in silence."""

    def update(self, snapshot: Snapshot) -> None:
        """What comes of it is printed by others."""

    def outage(self, outage: Outage) -> None:
        """One that does not end is an error in the end."""

    def close(self) -> None:
        """Nothing was shown."""


class PlainProgress:
    """A line for each change of a trial; for many trials a line of numbers now and then."""

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
            self._numbers(snapshot)

    def outage(self, outage: Outage) -> None:
        self._lost = True
        until = f" {PATIENCE}" if outage.first else ""
        self._write(
            f"{one_line(outage.reason)} Trying again in {outage.pause:.0f}s; the trials go on meanwhile.{until}"
        )

    def close(self) -> None:
        """Lines need no clearing away."""

    def _changes(self, snapshot: Snapshot) -> None:
        for trial in snapshot.trials:
            state = (trial["status"], trial.get("harbor_stage"), trial["attempts"])
            if self._seen.get(trial["id"]) != state:
                self._seen[trial["id"]] = state
                self._write(trial_line(trial))

    def _numbers(self, snapshot: Snapshot) -> None:
        if not snapshot.complete and self._clock() - self._summary_at < LINE_EVERY:
            return
        found = tally(snapshot.trials)
        counted = f"{plural(found.total, 'trial')}: {found.by_status()}"
        line = "; ".join(part for part in (counted, found.reward(), left(snapshot)) if part)
        if line != self._summary:
            self._summary, self._summary_at = line, self._clock()
            self._write(line)
