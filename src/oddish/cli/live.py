"""The live view of a watch on a terminal."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from oddish.cli.output import console
from oddish.cli.progress import PATIENCE, summary
from oddish.cli.tally import Tally, kind_label, left, tallies, tally
from oddish.cli.text import between, one_line
from oddish.cli.trials import detail, finished, index
from oddish.cli.watch import Outage, Snapshot
from oddish.client.types import Trial

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

TRIALS_SHOWN = 12
BAR = 24
RESERVE = 4
"""Lines left for what wraps, for a note and for the cursor."""
STACKED = 110
"""Columns below which an agent has its name and its numbers on lines of their own."""
NARROW = 80
"""Columns below which a trial has only a name and what it does, and the bar of all has a line of its own."""
FIRST = {"running": 0, "retrying": 1}
NOTEWORTHY = ("running", "retrying", "failed", "cancelled", "skipped")


@dataclass(frozen=True)
class Picture:
    """What is drawn of a snapshot, worked out once for all frames that show it."""

    snapshot: Snapshot
    taken: float
    whole: Tally
    parts: Sequence[Tally] = ()
    status: str = ""
    remaining: str = ""
    active: Sequence[Trial] = ()
    more: int = 0
    names: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, snapshot: Snapshot, taken: float) -> "Picture":
        active = [trial for trial in snapshot.trials if not finished(trial)]
        active.sort(key=lambda trial: FIRST.get(trial["status"], len(FIRST)))
        return cls(
            snapshot=snapshot,
            taken=taken,
            whole=tally(snapshot.trials, "all"),
            parts=tallies(snapshot),
            status=summary(snapshot),
            remaining=left(snapshot),
            active=active[:TRIALS_SHOWN],
            more=max(0, len(active) - TRIALS_SHOWN),
            names={task["id"]: one_line(task["name"]) for task in snapshot.tasks},
        )


class LiveProgress:
    """A bar for each agent, or for all; the numbers; and some of the trials that are under way."""

    def __init__(
        self,
        target: "Console | None" = None,
        clock: Callable[[], float] = time.monotonic,
        frames_per_second: float = 4,
    ) -> None:
        self._console = target or console()
        self._clock = clock
        self._picture = Picture.of(Snapshot([], []), clock())
        self._outage: Outage | None = None
        self._live = Live(
            console=self._console,
            refresh_per_second=frames_per_second,
            transient=True,
            get_renderable=self._render,
        )
        self._live.start()

    def update(self, snapshot: Snapshot) -> None:
        self._picture, self._outage = Picture.of(snapshot, self._clock()), None
        self.refresh()

    def outage(self, outage: Outage) -> None:
        self._outage = outage
        self.refresh()

    def refresh(self) -> None:
        self._live.refresh()

    def close(self) -> None:
        self._live.stop()

    def _render(self) -> Group:
        picture, width, height = self._picture, self._console.width, self._console.height
        head = [*_bars(picture.parts, width, height // 2), *_totals(picture, width)]
        trials = self._trials(width, max(1, height - len(head) - RESERVE))
        note: list[RenderableType] = []
        if self._outage:
            text = f"{one_line(self._outage.reason)} Trying again; the trials go on meanwhile. {PATIENCE}"
            note.append(Text(text, style="yellow"))
        return Group(*head, *trials, *note)

    def _trials(self, width: int, lines: int) -> "list[RenderableType]":
        picture = self._picture
        if not picture.active:
            return []
        now = picture.snapshot.at + timedelta(seconds=self._clock() - picture.taken)
        body = Table.grid(padding=(0, 2), expand=True)
        narrow = width < NARROW
        for _ in range(2 if narrow else 4):
            body.add_column(no_wrap=True)
        body.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        shown = picture.active[:lines]
        for trial in shown:
            running = trial["status"] == "running"
            name = picture.names.get(trial["task_id"]) or one_line(trial["task_id"])
            label = f"{one_line(name, width // 3)} #{one_line(index(trial))}"
            took = Text(between(trial["started_at"], None, now) if running else "", style="dim")
            doing = one_line(detail(trial), 80)
            if narrow:
                body.add_row(label, took, doing)
            else:
                who = one_line(kind_label(trial["agent"], trial["model"]), width // 4)
                body.add_row(label, who, Text(trial["status"], style="cyan" if running else "dim"), took, doing)
        more = picture.more + len(picture.active) - len(shown)
        return [body, *([_line(f"and {more} more", "dim")] if more else [])]


def _bars(parts: Sequence[Tally], width: int, lines: int) -> "list[RenderableType]":
    """One line for each of ``parts``, or three where that is too narrow."""
    if not parts:
        return []
    stacked = width < STACKED
    shown = parts[: max(1, lines // 3 if stacked else lines)]
    drawn: list[RenderableType] = []
    label = min(max(cell_len(part.label) for part in shown), width // 3)
    for part in shown:
        done, reward = "  ".join(filter(None, [f"{part.done}/{part.total}", part.by_status(NOTEWORTHY)])), part.reward()
        if stacked:
            drawn += [_line(part.label), _beside(_bar(part, width // 4), done), *([_line(reward)] if reward else [])]
        else:
            figures = "  ".join(filter(None, [done, reward]))
            drawn.append(_beside(_bar(part, min(BAR, width // 5)), figures, label=part.label, label_width=label))
    hidden = len(parts) - len(shown)
    return [*drawn, *([_line(f"and {hidden} more", "dim")] if hidden else [])]


def _totals(picture: Picture, width: int) -> "list[RenderableType]":
    further = "  ".join(filter(None, [picture.whole.reward(), picture.remaining]))
    lines: list[RenderableType] = []
    if picture.parts:
        lines.append(Text(picture.status))
    elif width < NARROW:
        lines += [_bar(picture.whole, min(BAR, width)), Text(picture.status)]
    else:
        lines.append(_beside(_bar(picture.whole, BAR), picture.status))
    return [*lines, *([Text(further)] if further else [])]


def _bar(part: Tally, width: int) -> ProgressBar:
    return ProgressBar(total=max(1, part.total), completed=part.done, width=width)


def _beside(bar: ProgressBar, text: str, *, label: str = "", label_width: int = 0) -> Table:
    """On one line: the label, the bar and as much of the text as there is room for."""
    grid = Table.grid(padding=(0, 1))
    if label_width:
        grid.add_column(width=label_width, no_wrap=True, overflow="ellipsis")
    grid.add_column(width=bar.width)
    grid.add_column(no_wrap=True, overflow="ellipsis")
    grid.add_row(*([label] if label_width else []), bar, text)
    return grid


def _line(text: str, style: str = "") -> Text:
    return Text(text, style=style, no_wrap=True, overflow="ellipsis")
