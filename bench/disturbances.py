"""What happens to a fleet while it works: workers are killed, and once everything is restarted in turn."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.progress import say
from oddish.db import migration
from support.fleet import Fleet
from support.migrations import release

EXPANDS = "ALTER TABLE trials ADD COLUMN colour text"
LONG_AWAY = 4
"""Every so many kills, the worker stays away until the lease has ended; otherwise it finds its own leavings."""
PAST_LEASE_SECONDS = 45.0


@dataclass(frozen=True)
class Disturbance:
    """``at`` in seconds since the beginning; ``worker_id`` is the life that ended, if it was one of a worker."""

    at: float
    what: str
    worker_id: str | None


@dataclass
class Disturber:
    """Does what is due each time it is asked, one thing at a time."""

    fleet: Fleet
    directory: Path
    kill_every: float
    rng: random.Random
    done: list[Disturbance] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)
    _kills: int = 0
    _away: dict[str, float] = field(default_factory=dict)
    _steps: list[Callable[[], None]] = field(default_factory=list)
    _restarted: bool = False

    @property
    def now(self) -> float:
        return time.monotonic() - self._began

    @property
    def finished(self) -> bool:
        """Whether the restart of everything is over."""
        return self._restarted and not self._steps

    def turn(self, *, restart: bool) -> None:
        """``restart``: now is the time to begin with restarting everything."""
        for name in [name for name, due in self._away.items() if due <= self.now]:
            self._come_back(name)
        if restart and not self._restarted:
            self._restarted = True
            names = (*self.fleet.servers, *self.fleet.workers)
            self._steps = [self._migrate, *(self._restarting(name) for name in names)]
        if self.now >= (self._kills + 1) * self.kill_every:
            self._kills += 1
            self._kill([name for name in self.fleet.workers if name not in self._away])
        elif self._steps:
            self._steps.pop(0)()

    def settle(self) -> None:
        """Everything that was killed comes back."""
        for name in list(self._away):
            self._come_back(name)

    def _kill(self, running: Sequence[str]) -> None:
        if not running:
            return
        name = self.rng.choice(running)
        seconds = PAST_LEASE_SECONDS if self._kills % LONG_AWAY == 0 else self.rng.uniform(1, 10)
        [*_, life] = self.fleet.worker_ids(name)
        self._note(f"kill -9 {name}, away for {seconds:.0f} s", life)
        self.fleet.kill(name)
        self._away[name] = self.now + seconds

    def _come_back(self, name: str) -> None:
        self.fleet.start(name)
        del self._away[name]

    def _migrate(self) -> None:
        migrations = release(self.directory, EXPANDS, contracts=False)
        migration.upgrade(self.fleet.direct_database_url, migrations=migrations)
        self._note("migration that adds a column", None)

    def _restarting(self, name: str) -> Callable[[], None]:
        def restart() -> None:
            if name in self._away:
                self._come_back(name)
            life = self.fleet.worker_ids(name)[-1] if name in self.fleet.workers else None
            self._note(f"SIGTERM {name}, start", life)
            code = self.fleet.restart(name)
            if code != 0:
                self.problems.append(f"{name} ended with {code} after SIGTERM")

        return restart

    def _note(self, what: str, life: str | None) -> None:
        self.done.append(Disturbance(self.now, what, life))
        say(what)
