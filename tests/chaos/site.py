"""A deployment that is made to be hurt: servers, workers, database and store, with a proxy before each of them."""

import os
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from psycopg import OperationalError

from chaos import clocks, disks, engine, journal, leftovers
from chaos.clocks import Clock
from chaos.disks import Disk
from chaos.engine import Engine
from chaos.facts import Leftover
from chaos.weather import Weather
from oddish.errors import OddishError
from oddish.stack.binaries import SETTING as POSTGRES_BIN
from support.fleet import DATABASE, Fleet

DATABASE_MEGABYTES = 320
HOME_MEGABYTES = 512
ENVIRONMENT = {"ODDISH_LEASE_SECONDS": "12", "ODDISH_HEARTBEAT_SECONDS": "1", "ODDISH_POLL_SECONDS": "2"}
NO_ENGINE = "unix:///nowhere/docker.sock"
ENGINES_WORKER = "worker-1"
"""The one that has the Docker engine."""
STATUSES = "SELECT id, status FROM trials WHERE id = ANY (%s)"

# As if the time had come for everything that waits for one: nobody waits out half a minute after each failure.
HURRY = """
WITH due AS (
  UPDATE jobs SET state = 'ready', run_at = NULL, ready_at = clock_timestamp() WHERE state = 'scheduled' RETURNING id
)
SELECT pg_notify('oddish_jobs', '') FROM due LIMIT 1
"""


@dataclass(frozen=True)
class Means:
    """Why this machine cannot have some faults; None where it can."""

    disks: str | None
    faketime: str | None
    docker: str | None

    @classmethod
    def found(cls) -> Self:
        return cls(
            disks=None if disks.can_mount() else "small disks can only be mounted by root",
            faketime=None if clocks.library() else "libfaketime is not installed (the package of that name)",
            docker=engine.obstacle(),
        )

    def lacks(self, needs: str | None) -> str | None:
        reason: str | None = getattr(self, needs) if needs else None
        return reason


class Site:
    """``with Site(directory, means) as site``. Worker 1 and the database are on small disks of their own, worker 2 and
    the database have clocks of their own. What is nursed is started again whenever it has ended."""

    def __init__(
        self, directory: Path, means: Means, *, servers: int = 2, workers: int = 2, concurrency: int = 2
    ) -> None:
        self.directory = directory
        self.means = means
        self.tag = new_tag()
        """In the names of all tasks, and so of all that runs for them."""
        self._sizes = (servers, workers, concurrency)
        self._closing = ExitStack()
        self._leaving = threading.Event()
        self._nurses: list[threading.Thread] = []
        self._nursed: set[str] = set()
        self.disks: dict[str, Disk] = {}
        self.clocks: dict[str, Clock] = {}
        self.engine: Engine | None = None
        self.fleet: Fleet
        self.database: Weather
        self.storage: Weather
        self.doors: list[Weather] = []
        """Before each server."""
        self.restarts = 0

    def __enter__(self) -> Self:
        with ExitStack() as opening:
            opening.callback(self._closing.close)
            self._open()
            opening.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def _open(self) -> None:
        servers, workers, concurrency = self._sizes
        self.directory.mkdir(parents=True, exist_ok=True)
        offered = '["local", "docker"]' if self._start_engine() else '["local"]'
        # Whatever engine this machine has is for others.
        variables = {"DOCKER_HOST": NO_ENGINE, "ODDISH_OFFERED_ENVIRONMENTS": offered}
        self.fleet = Fleet(self.directory, environment=ENVIRONMENT | variables)
        self._mount(DATABASE, self.directory / "postgres", DATABASE_MEGABYTES)
        self._mount("worker-1", self.fleet.home("worker-1"), HOME_MEGABYTES)
        if self.means.faketime is None and (library := clocks.library()) is not None:
            clock = self.clocks[DATABASE] = Clock(self.directory / "database.clock")
            programs = clocks.postgres_on(clock, library, self.directory / "bin")
            self._closing.enter_context(_variables({POSTGRES_BIN: programs}))
        self._closing.enter_context(self.fleet)
        journal.install(self.fleet)
        self.database = self._closing.enter_context(Weather(self.fleet.database_socket))
        self.storage = self._closing.enter_context(Weather(self.fleet.storage_port))
        self.fleet.route(database_port=self.database.port, storage_port=self.storage.port)
        for name in self.fleet.add_servers(servers):
            port = int(self.fleet.url(name).rpartition(":")[2])
            self.doors.append(self._closing.enter_context(Weather(port)))
        self.clocks["worker-2"] = Clock(self.directory / "worker-2.clock")
        for number in range(1, workers + 1):
            self.fleet.add_workers(1, concurrency=concurrency, **self._own(f"worker-{number}"))
        # Before the proxies: workers need them to end in good order.
        self._closing.callback(self.fleet.close)
        self._closing.callback(self._stop_nursing)

    def _start_engine(self) -> bool:
        if self.means.docker is None:
            self.engine = Engine()
            self._closing.callback(self.engine.close)
            self.engine.start()
            self.engine.load_base()
        return self.engine is not None

    def _own(self, worker: str) -> dict[str, str]:
        """Variables of one worker alone."""
        clock = self.clocks[worker].for_worker if worker in self.clocks else {}
        docker = {"DOCKER_HOST": self.engine.host} if self.engine and worker == ENGINES_WORKER else {}
        return clock | docker

    @property
    def environments(self) -> list[str]:
        """Of trials, as often as they are wanted."""
        return ["local", "local", "local", "docker"] if self.engine else ["local"]

    def _mount(self, name: str, point: Path, megabytes: int) -> None:
        if self.means.disks is None:
            disk = Disk(point, megabytes)
            disk.mount()
            self._closing.callback(disk.unmount)
            self.disks[name] = disk

    @property
    def urls(self) -> list[str]:
        """Of the proxies before the servers."""
        return [f"http://127.0.0.1:{door.port}" for door in self.doors]

    def statuses(self, trial_ids: Sequence[str]) -> Mapping[str, str]:
        return dict(self.fleet.rows(STATUSES, list(trial_ids)))  # type: ignore[arg-type]

    def hurry(self) -> None:
        with suppress(OperationalError):
            self.fleet.rows(HURRY)

    def nurse(self, name: str) -> None:
        """Start it again whenever it has ended, until it is released."""
        self._nursed.add(name)
        thread = threading.Thread(target=self._nurse, args=(name,), name=f"nurse of {name}", daemon=True)
        self._nurses.append(thread)
        thread.start()

    def release(self, name: str) -> None:
        self._nursed.discard(name)

    def _nurse(self, name: str) -> None:
        while not self._leaving.wait(0.3) and name in self._nursed:
            if self.fleet.pid(name) is None:
                self.restarts += 1
                with suppress(AssertionError, OddishError, OSError):
                    self.fleet.start(name)

    def _stop_nursing(self) -> None:
        self._leaving.set()
        for thread in self._nurses:
            thread.join(100)

    def left_of_attempts(self, workers: Sequence[str]) -> list[Leftover]:
        """On the machine, of attempts that ran in ``workers`` and have ended."""
        return leftovers.of_attempts([self.fleet.home(name) for name in workers], self.tag)

    def left_of(self, names: Sequence[str]) -> list[Leftover]:
        """On the machine, of servers and workers that have ended."""
        homes = [self.fleet.home(name) for name in names]
        left = leftovers.of_workers(homes, [disk.point for disk in self.disks.values()])
        return left + (self.engine.leftovers() if self.engine else [])


def new_tag() -> str:
    return f"chaos{secrets.token_hex(3)}"


@contextmanager
def _variables(values: Mapping[str, str]) -> Iterator[None]:
    """In the environment of this process, for as long as the context is open."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
