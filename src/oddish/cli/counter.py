"""How far a command is that does many things of one kind: a bar on a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

from oddish.cli.output import LINE_EVERY, say
from oddish.cli.progress import is_terminal
from oddish.cli.text import duration, plural


class Counter(Protocol):
    def advance(self, count: int) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def counter(total: int, noun: str, *, quiet: bool) -> Counter:
    """Of ``total`` things called ``noun``. Not to be shared between threads."""
    if quiet or total < 2:
        return Silent()
    if not is_terminal(sys.stderr):
        return Lines(total, noun)
    return Bar(total, noun)


class Silent:
    def advance(self, count: int) -> None:
        """Nobody watches."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing was shown."""


class Lines(Silent):
    def __init__(
        self,
        total: int,
        noun: str,
        *,
        write: Callable[[str], None] = lambda text: say(text, err=True),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._total, self._noun = total, noun
        self._write, self._clock = write, clock
        self._done = 0
        self._began = self._told = clock()

    def advance(self, count: int) -> None:
        self._done += count
        now = self._clock()
        if now - self._told >= LINE_EVERY and 0 < self._done < self._total:
            self._told = now
            left = (now - self._began) / self._done * (self._total - self._done)
            self._write(f"{self._done} of {plural(self._total, self._noun)}, about {duration(left)} left")


class Bar:
    def __init__(self, total: int, noun: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn(f"{noun}s"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("", total=total)

    def advance(self, count: int) -> None:
        self._progress.advance(self._task, count)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
