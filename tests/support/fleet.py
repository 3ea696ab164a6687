"""A deployment of many: API servers and workers as real processes on one external PostgreSQL and one S3 store.

::

    with Fleet(tmp_path, environment={"ODDISH_LEASE_SECONDS": "12", "ODDISH_HEARTBEAT_SECONDS": "2"}) as fleet:
        fleet.add_servers(2)                     # server-1, server-2: `python -m oddish.api`
        fleet.add_workers(2, concurrency=2)      # worker-1, worker-2: `python -m oddish.worker`
        client = fleet.client("server-1")
        ...
        fleet.kill("worker-1")
        fleet.start("worker-1")
        fleet.wait_until_quiet(120)

Everything has a name: ``database``, ``storage``, ``server-N``, ``worker-N``. By name:

=======================  ==========================================================================================
``start``                starts it, with further variables if given, and waits until it is ready; nothing when it runs
``stop``                 SIGTERM, waits; the exit code
``kill``                 SIGKILL, waits
``pause``, ``resume``    SIGSTOP and SIGCONT, of it alone or of all below it as well
``restart``              stop and start
``pid``, ``below``       its process id while it runs, all that is below it
``log``, ``events``      its log file, the JSON lines of its last life (``all_lives=True``: of all)
=======================  ==========================================================================================

Of workers also: ``fork_servers(name)``, ``attempts(name)`` (process ids of the children that run attempts),
``worker_ids(name)`` (as in the column ``attempts.worker_id``, one for each life), ``home(name)``.

``storage`` keeps its objects in memory: freeze it or cut its connections, a killed one has lost everything.

Faults on the way: with ``proxied=True`` servers and workers reach the database by ``fleet.database_proxy`` and the
store by ``fleet.storage_proxy`` (``FlakyProxy``). For a proxy of your own, listen in front of ``fleet.database_socket``
(a Unix socket) or ``fleet.storage_port`` and call ``fleet.route(database_port=..., storage_port=...)``; what starts
from then on uses it. ``fleet.rows`` and ``wait_until_quiet`` always go to the database directly.

Leaving the context ends all of it, each by its pid, and what killed workers have left behind.
"""

import os
import random
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Self
from urllib.parse import parse_qs, urlsplit

import httpx2
import psycopg
from cryptography.fernet import Fernet
from obstore.store import S3Store

from oddish import Client
from oddish.client.types import NewKeyRequest
from oddish.db import migration
from oddish.db.url import plain
from oddish.stack import process
from oddish.stack.postgres import EmbeddedPostgres
from oddish.stack.process import Process
from oddish.storage.store import ArtifactStore
from oddish.variables import inherited
from support import programs
from support.flaky_proxy import FlakyProxy
from support.programs import PATIENCE, Database, Event, Launcher, Program, Unit, environment

KEY = "ok_" + "f1ee7".rjust(32, "0")
"""The bootstrap key: scope full, of an admin."""
BUCKET = "artifacts"
DATABASE, STORAGE = "database", "storage"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "fleet", "AWS_SECRET_ACCESS_KEY": "fleet-secret", "AWS_REGION": "us-east-1"}
UNFINISHED = "SELECT count(*) FROM jobs WHERE state IN ('held', 'ready', 'scheduled', 'running')"
_PORTS = range(20_000, 30_000)
"""Below those that outgoing connections get: a server that is started again finds its port free."""


class Fleet:
    def __init__(
        self,
        directory: Path,
        *,
        environment: Mapping[str, str] | None = None,
        proxied: bool = False,
        durable: bool = False,
    ) -> None:
        """``environment`` is for all servers and workers; ``durable`` makes the database survive power failures."""
        self.directory = directory
        self._environment = dict(environment or {})
        self._proxied = proxied
        self._launcher = Launcher()
        self._postgres = EmbeddedPostgres(directory / "postgres", durable=durable)
        self._units: dict[str, Unit] = {}
        self._variables: dict[str, dict[str, str | None]] = {}
        """Of servers and workers, beside those that all of them share."""
        self._left: set[Process] = set()
        self._clients = ExitStack()
        self._proxies = ExitStack()
        self._secret_key = Fernet.generate_key().decode()
        self._database_port: int | None = None
        self._storage_port: int | None = None
        self.storage_port = free_port()
        self.database_proxy: FlakyProxy
        self.storage_proxy: FlakyProxy

    def __enter__(self) -> Self:
        try:
            self._begin()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / "logs").mkdir(exist_ok=True)
        database = Database(self._postgres, self._launcher)
        moto = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.storage_port)]
        storage = self._program(STORAGE, moto, _plain(), lambda _: answers(self.storage_port))
        self._units |= {DATABASE: database, STORAGE: storage}
        self.start(DATABASE)
        migration.upgrade(self.direct_database_url)
        self.start(STORAGE)
        httpx2.put(f"http://127.0.0.1:{self.storage_port}/{BUCKET}", trust_env=False).raise_for_status()
        if self._proxied:
            self.database_proxy = self._proxies.enter_context(FlakyProxy(self.database_socket))
            self.storage_proxy = self._proxies.enter_context(FlakyProxy(self.storage_port))
            self.route(database_port=self.database_proxy.port, storage_port=self.storage_proxy.port)

    @property
    def direct_database_url(self) -> str:
        return self._postgres.url()

    @property
    def database_socket(self) -> Path:
        query = parse_qs(urlsplit(self.direct_database_url).query)
        return Path(query["host"][0]) / f".s.PGSQL.{query['port'][0]}"

    @property
    def database_url(self) -> str:
        """As servers and workers that start now are told."""
        if self._database_port is None:
            return self.direct_database_url
        return f"postgresql+psycopg://oddish@127.0.0.1:{self._database_port}/oddish"

    @property
    def storage_url(self) -> str:
        return f"s3://{BUCKET}/fleet"

    @property
    def storage_environment(self) -> dict[str, str]:
        """The variables beside ``storage_url`` with which the store is opened."""
        endpoint = f"http://127.0.0.1:{self._storage_port or self.storage_port}"
        return CREDENTIALS | {"AWS_ENDPOINT": endpoint, "AWS_ALLOW_HTTP": "true"}

    def route(self, *, database_port: int | None = None, storage_port: int | None = None) -> None:
        """By which ports of the loopback what starts from now on reaches them; None: directly."""
        self._database_port, self._storage_port = database_port, storage_port

    def add_servers(self, count: int, **variables: str) -> list[str]:
        """Start so many more, side by side; their names."""
        return self._add("server", "oddish.api", count, variables)

    def add_workers(self, count: int, *, concurrency: int = 2, **variables: str) -> list[str]:
        """Start so many more, side by side; their names."""
        return self._add("worker", "oddish.worker", count, {"ODDISH_WORKER_CONCURRENCY": str(concurrency), **variables})

    def _add(self, kind: str, module: str, count: int, variables: Mapping[str, str]) -> list[str]:
        first = 1 + sum(name.startswith(f"{kind}-") for name in self._units)
        names = [f"{kind}-{number}" for number in range(first, first + count)]
        for name in names:
            own = {"ODDISH_PORT": str(free_port())} if kind == "server" else {}
            self._variables[name] = {"ODDISH_HOME": str(self.home(name)), **own, **self._environment, **variables}
            program = self._program(
                name,
                [sys.executable, "-P", "-m", module],
                {},
                _served if kind == "server" else _announced,
            )
            self._units[name] = program
        self.start_all(names)
        return names

    def _program(
        self, name: str, command: list[str], variables: dict[str, str], ready: Callable[[Program], bool]
    ) -> Program:
        return Program(name, command, variables, self.directory / "logs" / f"{name}.log", ready, self._launcher)

    @property
    def servers(self) -> list[str]:
        return [name for name in self._units if name.startswith("server-")]

    @property
    def workers(self) -> list[str]:
        return [name for name in self._units if name.startswith("worker-")]

    def start(self, name: str, **variables: str | None) -> None:
        """``variables`` stay for the starts that follow; None takes one away."""
        self.start_all([name], **variables)

    def start_all(self, names: Iterable[str], **variables: str | None) -> None:
        """Side by side."""
        units = [self._units[name] for name in names]
        for unit in units:
            if isinstance(unit, Program) and unit.name in self._variables and unit.pid is None:
                self._variables[unit.name] |= variables
                unit.environment = environment(_plain(), self._shared(), self._variables[unit.name])
            unit.launch()
        for unit in units:
            unit.wait_ready()

    def _shared(self) -> dict[str, str]:
        return self.storage_environment | {
            "ODDISH_DATABASE_URL": self.database_url,
            "ODDISH_STORAGE_URL": self.storage_url,
            "ODDISH_SECRET_KEY": self._secret_key,
        }

    def stop(self, name: str, timeout: float = PATIENCE) -> int | None:
        """The exit code. Raises ``subprocess.TimeoutExpired`` when it does not end."""
        return self._units[name].stop(timeout)

    def kill(self, name: str) -> None:
        self._left.update(self.below(name))
        self._units[name].kill()

    def restart(self, name: str, timeout: float = PATIENCE, **variables: str | None) -> int | None:
        """The exit code of the life that ended."""
        code = self.stop(name, timeout)
        self.start(name, **variables)
        return code

    def pause(self, name: str, *, whole: bool = False) -> None:
        """``whole``: with everything that is below it."""
        self._signal(name, signal.SIGSTOP, whole=whole)

    def resume(self, name: str) -> None:
        """With everything that is below it."""
        self._signal(name, signal.SIGCONT, whole=True)

    def _signal(self, name: str, number: signal.Signals, *, whole: bool) -> None:
        pid = self.pid(name)
        assert pid is not None, f"{name} does not run"
        for entry in self.below(name) if whole else []:
            entry.send(number)
        os.kill(pid, number)

    def pid(self, name: str) -> int | None:
        return self._units[name].pid

    def below(self, name: str) -> list[Process]:
        return programs.below(self.pid(name))

    def fork_servers(self, worker: str) -> list[int]:
        return programs.fork_servers(self.pid(worker))

    def attempts(self, worker: str) -> list[int]:
        """Process ids of the children that run its attempts now."""
        return [child for server in self.fork_servers(worker) for child in programs.children(server)]

    def worker_ids(self, worker: str) -> list[str]:
        return [str(event["worker"]) for event in self.events(worker, all_lives=True) if _ready(event)]

    def home(self, name: str) -> Path:
        return self.directory / "homes" / name

    def log(self, name: str) -> Path:
        return self._named(name).log

    def events(self, name: str, *, all_lives: bool = False) -> list[Event]:
        return list(self._named(name).events(all_lives=all_lives))

    def exit_code(self, name: str) -> int | None:
        """Of the last life; None while it runs."""
        return self._named(name).exit_code

    def _named(self, name: str) -> Program:
        unit = self._units[name]
        assert isinstance(unit, Program), f"{name} writes its log elsewhere"
        return unit

    def url(self, server: str) -> str:
        return _url(self._named(server))

    def client(self, server: str, key: str = KEY) -> Client:
        """Closed with the fleet."""
        return self._clients.enter_context(Client(self.url(server), key))

    def key(self, name: str, request: NewKeyRequest | None = None) -> str:
        """A new key, made over HTTP; by default of scope ``tasks`` for a user of this name."""
        asked: NewKeyRequest = request or {"name": name, "scope": "tasks", "user": name}
        return self.client(self.servers[0]).keys.create(asked)["key"]

    def store(self) -> ArtifactStore:
        """The objects, by the way that is routed now."""
        bucket = S3Store(
            BUCKET,
            prefix="fleet",
            endpoint=self.storage_environment["AWS_ENDPOINT"],
            access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
            secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
            region=CREDENTIALS["AWS_REGION"],
            client_options={"allow_http": True},
        )
        return ArtifactStore(bucket)

    def rows(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        """Of one statement in a transaction and connection of its own."""
        with psycopg.connect(plain(self.direct_database_url)) as connection:
            cursor = connection.execute(statement.encode(), values or None)
            return cursor.fetchall() if cursor.description else []

    def wait_until_quiet(self, timeout: float) -> None:
        """Until no job waits or runs."""
        deadline = time.monotonic() + timeout
        while True:
            with suppress(psycopg.OperationalError):
                [(unfinished,)] = self.rows(UNFINISHED)
                if unfinished == 0:
                    return
            assert time.monotonic() < deadline, f"not quiet after {timeout:.0f} s: {self.rows(UNFINISHED)} jobs"
            time.sleep(0.2)

    def close(self) -> None:
        """End everything: workers and servers first, which need the others to end in good order."""
        self._clients.close()
        for name in self._units:
            with suppress(AssertionError):
                self.resume(name)
        running = [entry for name in (*self.workers, *self.servers) if (entry := self._process(name)) is not None]
        process.end_trees(running, PATIENCE)
        process.end(self._left, steps=((signal.SIGKILL, 5.0),))
        for unit in reversed(self._units.values()):
            unit.stop()
        self._proxies.close()
        self._launcher.close()

    def _process(self, name: str) -> Process | None:
        pid = self.pid(name)
        return None if pid is None else process.process(pid)


def free_port() -> int:
    """Of the loopback."""
    while True:
        port = random.choice(_PORTS)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def _plain() -> dict[str, str]:
    """What every process gets: nothing of the caller's but what programs need. Trials run in the local sandbox."""
    kept = {name: value for name, value in os.environ.items() if inherited(name) and "proxy" not in name.lower()}
    return kept | {
        "ODDISH_BOOTSTRAP_KEY": KEY,
        "ODDISH_LOG_FORMAT": "json",
        "ODDISH_OFFERED_ENVIRONMENTS": '["local"]',
    }


def _url(server: Program) -> str:
    return f"http://127.0.0.1:{server.environment['ODDISH_PORT']}"


def _served(server: Program) -> bool:
    if not answers(int(server.environment["ODDISH_PORT"])):
        return False
    try:
        return httpx2.get(f"{_url(server)}/health", timeout=5, trust_env=False).status_code == 200
    except httpx2.TransportError:
        return False


def _announced(worker: Program) -> bool:
    return any(_ready(event) for event in worker.events())


def _ready(event: Event) -> bool:
    return event.get("event") == "worker ready"
