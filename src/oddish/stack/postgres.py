"""The private PostgreSQL of one home directory."""

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from oddish.errors import Unavailable
from oddish.home import private_directory
from oddish.stack import account, binaries, database, upgrade
from oddish.stack.account import Account
from oddish.stack.binaries import Binaries
from oddish.stack.cluster import DATABASE, PORT, SUPERUSER, Cluster
from oddish.stack.lock import holder, open_lock, sign, try_lock
from oddish.stack.postmaster import Postmaster
from oddish.stack.process import Process
from oddish.stack.sockets import drop_substitute, socket_directory

_THROWAWAY: Mapping[str, str] = {"fsync": "off", "full_page_writes": "off"}


class EmbeddedPostgres:
    """A cluster below ``directory``, one data directory per major version, reached by a Unix socket only.

    ``start`` creates it, upgrades it, recovers it from a crash, whichever is needed, and returns when it accepts
    connections; called again after the server has died, it starts it again. The server ends with this process.
    ``durable=False`` trades safety against power failure for speed, for tests.
    """

    name = "postgres"

    def __init__(
        self,
        directory: Path,
        *,
        log: Path | None = None,
        durable: bool = True,
        installed: Sequence[Binaries] | None = None,
        runner: Account | None = None,
    ) -> None:
        self._directory = directory.absolute()
        self._log = log or self._directory / "postgres.log"
        self._settings = {} if durable else _THROWAWAY
        self._installed = installed
        self._runner = runner
        self._sockets: Path | None = None
        self._postmaster: Postmaster | None = None
        self._lock: int | None = None
        self.notes: list[str] = []

    def start(self, timeout: float = 300.0) -> None:
        if self.pid is not None:
            return
        cluster, available, lock = self._open()
        try:
            self._settle()
            cluster = self._prepare(cluster, available, lock)
            self._postmaster = Postmaster(cluster, log=self._log, settings=self._settings, inherited=(lock,))
            self._postmaster.wait_ready(timeout)
            database.create_missing(self.url("postgres"), DATABASE)
        except BaseException:
            self.stop()
            raise

    def restore(self, dump: Path, prepare: Callable[[str], None]) -> list[Path]:
        """Put the database in ``dump`` in the place of the one that is there; the directories that keep the latter.

        ``prepare`` is given the address of the new one when it is filled. All happens or nothing. No server may run.
        """
        cluster, available, lock = self._open()
        try:
            kept = self._settle()
            new = replace(cluster, data=self._directory / str(available[0].major))
            upgrade.restore(new, dump, self._log, lock, lambda: prepare(self.url()))
            return kept + upgrade.settle(self._directory)
        finally:
            self.stop()

    @property
    def pid(self) -> int | None:
        """The server's pid while it runs; asking also reaps it when it has ended."""
        running = self._postmaster is not None and self._postmaster.process.poll() is None
        return self._postmaster.process.pid if self._postmaster is not None and running else None

    def url(self, database: str = DATABASE) -> str:
        if self._sockets is None:
            raise Unavailable("PostgreSQL has not been started.", fix="Call start() first.")
        return f"postgresql+psycopg://{SUPERUSER}@/{database}?host={quote(str(self._sockets), safe='/')}&port={PORT}"

    def stop(self, timeout: float = 30.0) -> None:
        if self._postmaster is not None:
            self._postmaster.stop(timeout)
            self._postmaster = None
        if self._lock is not None:
            if self._sockets is not None:
                drop_substitute(self._sockets, self._preferred_sockets)
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    @property
    def _preferred_sockets(self) -> Path:
        return self._directory / "socket"

    def _open(self) -> tuple[Cluster, Sequence[Binaries], int]:
        """Where a cluster would be, the programs there are, and the lock, which is ours now."""
        runner = self._runner = self._runner or account.current()
        private_directory(self._directory)
        runner.own(self._directory)
        self._sockets = socket_directory(self._preferred_sockets, runner)
        available = list(self._installed or binaries.installed())
        cluster = Cluster(self._directory, self._sockets, available[0], runner)
        return cluster, available, self._acquire(cluster)

    def _settle(self) -> list[Path]:
        """Finish or drop what was interrupted."""
        kept = upgrade.settle(self._directory)
        upgrade.sweep(self._directory)
        self.notes += [f"The database was replaced; the data from before are kept in {path}." for path in kept]
        return kept

    def _prepare(self, cluster: Cluster, available: Sequence[Binaries], lock: int) -> Cluster:
        """The cluster to serve: the newest there is, brought to the preferred version."""
        found = self._data_directories()
        wanted = available[0]
        if not found:
            fresh = replace(cluster, data=self._directory / str(wanted.major))
            fresh.create()
            return fresh
        newest = max(found)
        chosen = replace(cluster, data=found[newest], binaries=_of_major(available, newest, found[newest]))
        chosen.account.own(chosen.data)
        chosen.clear()
        if newest < wanted.major:
            target = replace(cluster, data=self._directory / str(wanted.major))
            upgrade.upgrade(chosen, target, self._log, lock)
            moved = f"The database was moved from PostgreSQL {newest} to {wanted.major}; the old data are kept in "
            self.notes += [
                f"{moved}{path}." for path in upgrade.settle(self._directory) if path.name.startswith(str(newest))
            ]
            return target
        for major in found.keys() - {newest}:
            upgrade.set_aside(found[major])
        return chosen

    def _data_directories(self) -> dict[int, Path]:
        found = {}
        for path in self._directory.iterdir():
            if re.fullmatch(r"\d+", path.name) is None:
                continue
            marker = path / "PG_VERSION"
            written = marker.read_text().strip() if marker.exists() else "nothing"
            if written != path.name:
                raise Unavailable(
                    f"{path} should hold a PostgreSQL {path.name} cluster, and its PG_VERSION says {written}.",
                    fix="Move that directory away or put the right one back; nothing was changed.",
                )
            found[int(path.name)] = path
        return found

    def _acquire(self, cluster: Cluster) -> int:
        """The lock, which every server process inherits: free means that none of them is left anywhere."""
        if self._lock is not None:
            return self._lock
        path = self._directory / "lock"
        lock = open_lock(path)
        try:
            if not try_lock(lock):
                self._evict(lock, holder(path), cluster)
            sign(lock)
        except BaseException:
            os.close(lock)
            raise
        self._lock = lock
        return lock

    def _evict(self, lock: int, owner: Process | None, cluster: Cluster) -> None:
        """Take the lock over from servers whose owner has died; refuse when the owner lives."""
        if owner is not None:
            raise Unavailable(
                f"The database in {self._directory} is in use by process {owner.pid}.",
                fix="Use the stack that runs already, or stop it with 'oddish down'.",
            )
        for data in (*self._data_directories().values(), *upgrade.staged(self._directory)):
            replace(cluster, data=data).clear()
        deadline = time.monotonic() + 10
        while not try_lock(lock):
            if time.monotonic() > deadline:
                raise Unavailable(
                    f"The database in {self._directory} is in use by a process that cannot be seen from here.",
                    fix="Stop the other stack: it may run in a container that shares this directory.",
                )
            time.sleep(0.02)


def _of_major(available: Sequence[Binaries], major: int, data: Path) -> Binaries:
    for entry in available:
        if entry.major == major:
            return entry
    offered = ", ".join(str(entry.major) for entry in available)
    raise Unavailable(
        f"{data} was written by PostgreSQL {major}; the installed programs are of version {offered}.",
        fix=f"Install PostgreSQL {major} and set {binaries.SETTING} to its bin directory; oddish then moves the data"
        f" to the newest version. Or move {data} away to begin anew.",
    )
