"""How far a submission is: one bar on a terminal, a line now and then elsewhere."""

import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from oddish.cli.output import LINE_EVERY, noticing
from oddish.cli.progress import is_terminal
from oddish.cli.text import plural
from oddish.client.types import Submitted

if TYPE_CHECKING:
    from rich.progress import Progress

FRAMES_PER_SECOND = 4.0


class SendBar:
    """Counts what was uploaded and submitted of ``total`` tasks, and shows it between ``__enter__`` and ``__exit__``.

    The counts hold also after an interruption. A single task is sent in silence.
    """

    def __init__(
        self,
        total: int,
        *,
        quiet: bool,
        write: Callable[[str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._total = total
        self._shows = total > 1 and not quiet
        self._write = write or noticing()
        self._clock = clock
        self._next_line = clock() + LINE_EVERY
        self._lock = threading.Lock()
        self._uploaded = 0
        self._accepted: list[Submitted] = []
        self._bar: Progress | None = None

    @property
    def accepted(self) -> int:
        """Tasks that were submitted."""
        return len(self._accepted)

    @property
    def trials(self) -> int:
        """That were created."""
        return sum(len(task["new_trial_ids"]) for task in self._accepted)

    def __enter__(self) -> "SendBar":
        if self._shows and is_terminal(sys.stderr):
            self._bar = _bar(self._total)
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def uploaded(self) -> None:
        with self._lock:
            self._uploaded += 1
            self._show()

    def submitted(self, task: Submitted) -> None:
        with self._lock:
            self._accepted.append(task)
            self._show()

    def _show(self) -> None:
        counts = f"{self._uploaded} uploaded, {self.accepted} submitted"
        if self._bar is not None:
            for task in self._bar.task_ids:
                self._bar.update(task, completed=self._uploaded + self.accepted, counts=counts)
        elif self._shows and self._clock() >= self._next_line:
            self._next_line = self._clock() + LINE_EVERY
            self._write(f"{counts} of {plural(self._total, 'task')}")


def _bar(total: int) -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("Sending"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[counts]}", markup=False),
        TextColumn(f"of {total}"),
        TimeRemainingColumn(),
        console=Console(stderr=True, markup=False, highlight=False, emoji=False),
        refresh_per_second=FRAMES_PER_SECOND,
        transient=True,
    )
    bar.add_task("", total=2 * total, counts="0 uploaded, 0 submitted")
    return bar
