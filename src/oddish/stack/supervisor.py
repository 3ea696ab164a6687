"""The parent of PostgreSQL, the API server and the worker, one per home directory."""

import contextlib
import ctypes
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

from oddish import __version__
from oddish.errors import InvalidInput, Unavailable
from oddish.room import shortage
from oddish.stack import database, process
from oddish.stack.family import Family, ServiceMember
from oddish.stack.idle import Idleness
from oddish.stack.layout import Layout
from oddish.stack.lock import open_lock, sign, try_lock
from oddish.stack.logs import bound
from oddish.stack.migration import migrate
from oddish.stack.port import HOST, PREFERRED, listen
from oddish.stack.postgres import EmbeddedPostgres
from oddish.stack.service import Context, Services, api_and_worker
from oddish.stack.state import Phase, State, read_state
from oddish.stack.token import create_token

_PR_SET_CHILD_SUBREAPER = 36
_TICK = 5.0
_STOPS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
STOP_UNLESS_BUSY = signal.SIGUSR1
_HANDLED = _STOPS | {signal.SIGCHLD, STOP_UNLESS_BUSY}


class AlreadyRunning(Unavailable):
    """Another supervisor holds the lock of this home directory."""

    code = "already_running"


class Supervisor:
    """``run`` starts the services, keeps them running, and returns when told to stop or idle for long enough."""

    def __init__(
        self,
        layout: Layout,
        *,
        services: Services = api_and_worker,
        now: Callable[[], float] = time.time,
        report: Callable[[str], None],
    ) -> None:
        self._layout = layout
        self._make_services = services
        self._report = report
        self._idleness = Idleness(_idle_seconds(), now)
        self._family = Family(report)
        self._state = _first_state()
        self._short = False

    def run(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)
        _adopt_orphans()
        self._layout.create()
        with self._only_one():
            self._end_leftovers()
            self._publish()
            try:
                self._supervise(self._start())
            finally:
                self._publish("stopping")
                self._family.stop()
                self._layout.state.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _only_one(self) -> Iterator[None]:
        """Hold the lock; wait for a predecessor that is stopping, refuse beside one that is not."""
        lock = open_lock(self._layout.lock)
        try:
            while not try_lock(lock):
                other = read_state(self._layout)
                if other is None or other.phase != "stopping" or not other.supervisor.alive():
                    raise AlreadyRunning(
                        f"A stack for {self._layout.home} is running already.", fix="'oddish down' stops it."
                    )
                process.wait_gone([other.supervisor], 0.5)
            sign(lock)
            yield
        finally:
            os.close(lock)

    def _end_leftovers(self) -> None:
        """What a killed predecessor's children did not end by themselves; PostgreSQL is left to its own recovery."""
        before = read_state(self._layout)
        left = [entry for name, entry in before.services.items() if name != "postgres"] if before else []
        process.end_trees(left, patience=3.0)

    def _start(self) -> Context:
        url = os.environ.get("ODDISH_DATABASE_URL")
        if url and os.environ.get("ODDISH_DEV_KEY"):
            raise InvalidInput(
                "A key of one's own choosing is for a database of this machine, and ODDISH_DATABASE_URL names another.",
                fix="Unset ODDISH_DATABASE_URL, or leave out --dev-key: `oddish admin key create` makes keys.",
            )
        if not url:
            postgres = EmbeddedPostgres(self._layout.postgres, log=self._layout.log("postgres"))
            self._family.add(postgres)
            url = postgres.url()
            self._state = replace(self._state, notes=(*self._state.notes, *postgres.notes))
        context = Context(self._layout, url, create_token(self._layout))
        migrate(context)
        listener = self._listen()
        for service in self._make_services(context):
            self._family.add(ServiceMember(service, self._layout, listener))
        self._publish("running")
        for line in (*self._state.notes, f"oddish {__version__} is running at {self._state.url}"):
            self._report(line)
        return context

    def _listen(self) -> socket.socket:
        """The socket that the API server serves, ours for as long as we run."""
        wanted = self._state.port
        listener = listen(wanted)
        port = listener.getsockname()[1]
        if port != wanted:
            notes = (*self._state.notes, f"Port {wanted} is taken; this stack uses {port}.") if wanted else ()
            self._state = replace(self._state, port=port, url=_url(port), notes=notes)
        return listener

    def _supervise(self, context: Context) -> None:
        def busy() -> bool:
            return database.has_unfinished_jobs(context.database_url)

        self._idleness.start()
        next_look = time.monotonic() + self._idleness.interval
        while True:
            pause = min(_TICK, self._family.wait(), max(0.0, next_look - time.monotonic()) or _TICK)
            received = signal.sigtimedwait(_HANDLED, pause)
            number = received.si_signo if received else None
            if number in _STOPS:
                return self._report(f"stopping: {signal.Signals(number).name}")
            if number == STOP_UNLESS_BUSY and not busy():
                return self._report("stopping: asked to, and no job is unfinished")
            if self._family.tend() or read_state(self._layout) != self._state:
                self._publish()
            self._watch_disk()
            if time.monotonic() >= next_look:
                next_look = time.monotonic() + self._idleness.interval
                if database.recount(context.database_url):
                    self._report("counted the rows of the database again, after a crash")
                if self._idleness.over(self._last_request(), busy):
                    return self._report("stopping: idle")
            for log in self._layout.logs():
                with contextlib.suppress(OSError):
                    bound(log)

    def _watch_disk(self) -> None:
        short = shortage(self._layout.home)
        if (short is None) == self._short:
            self._short = short is not None
            self._report(str(short) if short else f"The disk of {self._layout.home} has room again.")
            if not short:
                self._family.hurry()

    def _last_request(self) -> float:
        try:
            return self._layout.activity.stat().st_mtime
        except FileNotFoundError:
            return 0.0

    def _publish(self, phase: Phase | None = None) -> None:
        names = ", ".join(self._family.troubled)
        trouble = f"{names} keeps ending; see {self._layout.log('*')}" if names else None
        services = self._family.processes()
        self._state = replace(self._state, services=services, trouble=trouble, phase=phase or self._state.phase)
        try:
            self._layout.create()
            self._state.write(self._layout)
        except OSError as error:
            self._report(f"the state cannot be written: {error}")


def _first_state() -> State:
    me = process.current()
    port = _number("ODDISH_PORT", PREFERRED, int)
    return State(
        pid=me.pid,
        process_started=me.started,
        url=_url(port),
        port=port,
        version=__version__,
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        phase="starting",
    )


def _url(port: int) -> str:
    return f"http://{HOST}:{port}"


def _idle_seconds() -> float:
    return 60.0 * _number("ODDISH_IDLE_MINUTES", 15.0, float)


def _number[N: (int, float)](name: str, default: N, kind: Callable[[str], N]) -> N:
    text = os.environ.get(name)
    try:
        value = kind(text) if text else default
    except ValueError:
        value = kind("-1")
    if value < 0:
        raise InvalidInput(f"{name} is {text!r}, not a number from 0 up.")
    return value


def _adopt_orphans() -> None:
    """Whatever our children leave behind becomes ours to reap and end, not init's to keep."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
