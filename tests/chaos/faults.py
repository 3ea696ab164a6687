"""Carrying out the faults of a plan, each in a thread of its own, and undoing every one of them."""

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress

from psycopg import OperationalError

from chaos.plan import Fault
from chaos.site import ENGINES_WORKER, Site
from chaos.weather import Mood, Weather
from oddish.stack import process
from support.fleet import DATABASE, STORAGE, Fleet

AIMING_SECONDS = 8.0
"""How long something to hit is waited for."""
KEEPER = "oddish.sandbox.keeper"
BACKENDS = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'oddish-%'"


class Faults:
    """``hits`` and ``misses`` count by kind; a fault misses when for a while there was nothing that it could hit."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self.hits: Counter[str] = Counter()
        self.misses: Counter[str] = Counter()
        self.errors: list[str] = []

    def carry_out(self, faults: Sequence[Fault], said: Callable[[Fault, str], None]) -> None:
        """Returns when the last one has begun; ``said`` is told of each what it hit."""
        begun = time.monotonic()
        for fault in faults:
            time.sleep(max(0.0, begun + fault.at - time.monotonic()))
            thread = threading.Thread(target=self._strike, args=(fault, said), daemon=True)
            self._threads.append(thread)
            thread.start()

    def heal(self) -> None:
        """Wait for the end of what lasts, and set the clocks right."""
        self._over.set()
        for thread in self._threads:
            thread.join(60)
        for clock in self._site.clocks.values():
            clock.jump(0)
        for disk in self._site.disks.values():
            disk.free()
        if self._site.engine is not None:
            self._site.engine.start()
            # It offers what it found at its start, which may have been while the engine was away.
            self._site.fleet.stop(ENGINES_WORKER)

    def _strike(self, fault: Fault, said: Callable[[Fault, str], None]) -> None:
        deadline = time.monotonic() + AIMING_SECONDS
        while True:
            try:
                hit = INJURIES[fault.kind](self, fault)
            except (AssertionError, OSError, OperationalError) as error:
                self.errors.append(f"{fault.kind}: {type(error).__name__} {error}")
                hit = None
            if hit is not None:
                self.hits[fault.kind] += 1
                said(fault, hit)
                return
            if time.monotonic() > deadline or self._over.wait(0.2):
                self.misses[fault.kind] += 1
                said(fault, "nothing to hit")
                return

    def _kill_unit(self, fault: Fault, names: Sequence[str]) -> str | None:
        name = fault.chosen([name for name in names if self._site.fleet.pid(name) is not None])
        if name is not None:
            self._site.fleet.kill(name)
        return name

    def _kill_process(self, fault: Fault, find: Callable[[str], Sequence[int]]) -> str | None:
        pid = fault.chosen([pid for worker in self._site.fleet.workers for pid in find(worker)])
        if pid is None:
            return None
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            return f"process {pid}"
        return None

    def worker(self, fault: Fault) -> str | None:
        return self._kill_unit(fault, self._site.fleet.workers)

    def server(self, fault: Fault) -> str | None:
        return self._kill_unit(fault, self._site.fleet.servers)

    def database(self, fault: Fault) -> str | None:
        return self._kill_unit(fault, [DATABASE])

    def fork_server(self, fault: Fault) -> str | None:
        return self._kill_process(fault, self._site.fleet.fork_servers)

    def child(self, fault: Fault) -> str | None:
        return self._kill_process(fault, self._site.fleet.attempts)

    def keeper(self, fault: Fault) -> str | None:
        return self._kill_process(fault, lambda worker: keepers(self._site.fleet, worker))

    def docker_engine(self, fault: Fault) -> str | None:
        engine = self._site.engine
        if engine is None or engine.pid is None:
            return None
        engine.kill()
        try:
            self._last(fault)
        finally:
            engine.start()
        return f"for {fault.lasts:.1f} s"

    def backend(self, fault: Fault) -> str | None:
        pid = fault.chosen([int(str(row[0])) for row in self._site.fleet.rows(BACKENDS)])
        if pid is None:
            return None
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            return f"backend {pid}"
        return None

    def freeze(self, fault: Fault) -> str | None:
        fleet = self._site.fleet
        name = fault.chosen([name for name in fleet.workers if fleet.pid(name) is not None])
        if name is None:
            return None
        whole = fault.aim * 1000 % 2 < 1
        with self._frozen([name], whole=whole):
            self._last(fault)
        return f"{name}{' with all below it' if whole else ''}"

    def suspend(self, fault: Fault) -> str | None:
        fleet = self._site.fleet
        names = [name for name in (*fleet.workers, *fleet.servers, DATABASE, STORAGE) if fleet.pid(name) is not None]
        with self._frozen(names, whole=True):
            self._last(fault)
        return f"{len(names)} units"

    def _frozen(self, names: Sequence[str], *, whole: bool) -> ExitStack:
        """Stopped until the context is left; what was meanwhile killed is let go."""
        stack = ExitStack()
        for name in names:
            pid = self._site.fleet.pid(name)
            victims = [] if pid is None else [entry for entry in [process.process(pid)] if entry is not None]
            victims += self._site.fleet.below(name) if whole else []
            for victim in victims:
                victim.send(signal.SIGSTOP)
                stack.callback(victim.send, signal.SIGCONT)
        return stack

    def drop_connections(self, fault: Fault) -> str | None:
        return self._mood(fault, Mood.AWAY, [self._site.database])

    def lose_commits(self, fault: Fault) -> str | None:
        return self._mood(fault, Mood.FORGETFUL, [self._site.database])

    def fail_storage(self, fault: Fault) -> str | None:
        return self._mood(fault, Mood.FAILING, [self._site.storage])

    def slow_storage(self, fault: Fault) -> str | None:
        return self._mood(fault, Mood.SLOW, [self._site.storage])

    def mute_storage(self, fault: Fault) -> str | None:
        return self._mood(fault, Mood.MUTE, [self._site.storage])

    def mute_servers(self, fault: Fault) -> str | None:
        return self._mood(fault, Mood.MUTE, self._site.doors)

    def _mood(self, fault: Fault, mood: Mood, proxies: Sequence[Weather]) -> str | None:
        """None when nothing passed by meanwhile that could be struck."""
        before = sum(proxy.struck for proxy in proxies)
        with ExitStack() as stack:
            for proxy in proxies:
                stack.enter_context(proxy.mood(mood))
            self._last(fault)
        struck = sum(proxy.struck for proxy in proxies) - before
        return f"{struck} struck in {fault.lasts:.1f} s" if struck else None

    def fill_home(self, fault: Fault) -> str | None:
        return self._fill(fault, "worker-1")

    def fill_database(self, fault: Fault) -> str | None:
        return self._fill(fault, DATABASE)

    def _fill(self, fault: Fault, name: str) -> str | None:
        disk = self._site.disks[name]
        taken = disk.fill()
        try:
            self._last(fault)
        finally:
            disk.free()
        return f"{name}: {taken // 2**20} MiB for {fault.lasts:.1f} s"

    def jump_worker(self, fault: Fault) -> str:
        return self._jump(fault, next(name for name in self._site.clocks if name != DATABASE))

    def jump_database(self, fault: Fault) -> str:
        return self._jump(fault, DATABASE)

    def _jump(self, fault: Fault, name: str) -> str:
        self._site.clocks[name].jump(fault.jump)
        return f"{name}: {fault.jump:+g} s off"

    def _last(self, fault: Fault) -> None:
        time.sleep(fault.lasts)


def keepers(fleet: Fleet, worker: str) -> list[int]:
    """Process ids of what guards the sandboxes of a worker's attempts."""
    below = fleet.below(worker)
    return [entry.pid for entry in below if any(KEEPER in part for part in process.command_line(entry.pid))]


INJURIES: Mapping[str, Callable[[Faults, Fault], str | None]] = {
    "worker killed": Faults.worker,
    "fork server killed": Faults.fork_server,
    "child killed": Faults.child,
    "sandbox keeper killed": Faults.keeper,
    "API server killed": Faults.server,
    "PostgreSQL killed": Faults.database,
    "database backend killed": Faults.backend,
    "Docker engine killed": Faults.docker_engine,
    "worker frozen past its lease": Faults.freeze,
    "everything suspended past the lease": Faults.suspend,
    "database connections dropped": Faults.drop_connections,
    "commit whose answer is lost": Faults.lose_commits,
    "disk of a worker full": Faults.fill_home,
    "disk of the database full": Faults.fill_database,
    "storage answers 5xx": Faults.fail_storage,
    "storage is slow": Faults.slow_storage,
    "storage loses answers": Faults.mute_storage,
    "API answers are lost": Faults.mute_servers,
    "clock of a worker jumps": Faults.jump_worker,
    "clock of the database jumps": Faults.jump_database,
}
