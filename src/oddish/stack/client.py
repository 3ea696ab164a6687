"""Find, start and stop the local stack. Standard library only and quick to import: the command line imports it."""

import os
import re
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from oddish import __version__
from oddish.errors import InvalidInput, Unavailable
from oddish.room import shortage
from oddish.stack import process
from oddish.stack.layout import Layout, layout
from oddish.stack.lock import holder
from oddish.stack.logs import tail
from oddish.stack.port import healthy, listens
from oddish.stack.process import Process
from oddish.stack.start import PROGRAM, Starter
from oddish.stack.state import State, read_state
from oddish.stack.token import read_token

DATABASE_URL = "ODDISH_DATABASE_URL"


@dataclass(frozen=True, slots=True)
class Stack:
    """A stack whose supervisor is alive."""

    state: State
    layout: Layout

    @property
    def url(self) -> str:
        return self.state.url

    @property
    def pid(self) -> int:
        return self.state.pid

    @property
    def version(self) -> str:
        return self.state.version

    def healthy(self) -> bool:
        """Whether its own API server answers: only that one may be sent the token."""
        now = read_state(self.layout)
        api = now.services.get("api") if now and now.supervisor == self.state.supervisor else None
        return now is not None and api is not None and listens(api.pid, now.port) and healthy(now.port)

    def notices(self) -> list[str]:
        """What the user should be told before relying on it."""
        skew = (
            f"The running stack is oddish {self.version}, this is {__version__}: 'oddish down' stops it, and the next "
            "command starts this version."
        )
        return [
            *([skew] if self.version != __version__ else []),
            *([self.state.trouble] if self.state.trouble else []),
            *([str(short)] if (short := shortage(self.layout.home)) else []),
        ]


@dataclass(frozen=True, slots=True)
class Stopped:
    """What ``stop`` did."""

    pid: int | None
    """The supervisor that was running."""
    killed: tuple[Process, ...] = ()
    """Processes that did not end when asked, or that nobody was left to ask."""

    def __str__(self) -> str:
        if self.killed:
            pids = ", ".join(str(entry.pid) for entry in self.killed)
            return f"Stopped; {len(self.killed)} did not end when asked and were killed: {pids}."
        return "No stack is running." if self.pid is None else f"Stopped (process {self.pid})."


def find(*, probe: bool = False) -> Stack | None:
    """The running stack of this home, by its state file and live process; ``probe`` also asks its ``/health``."""
    where = layout()
    state = read_state(where)
    if state is None or not state.supervisor.alive():
        return None
    stack = Stack(state, where)
    return None if probe and not stack.healthy() else stack


def token() -> str | None:
    """The key of the local stack; None before the first start."""
    return read_token(layout())


def database_elsewhere() -> bool:
    """Whether a stack that starts uses the database of ``ODDISH_DATABASE_URL``, not one of its own."""
    return bool(os.environ.get(DATABASE_URL))


def ensure(
    timeout: float = 60.0,
    *,
    say: Callable[[str], None] = lambda line: None,
    program: Sequence[str] = PROGRAM,
    own_database: bool = False,
) -> Stack:
    """A stack that answers ``/health``: the running one, else one started in the background. Counts as its use.

    Concurrent callers end with one stack, whose supervisor holds a lock. An older one with nothing to do is
    replaced. ``say`` is told what takes time. Raises ``Unavailable`` with the end of the log that explains it.
    With ``own_database`` none is started on a database elsewhere: that is ``InvalidInput``.
    """
    where = layout()
    barred = own_database and database_elsewhere()
    deadline = time.monotonic() + timeout
    starter = Starter(where, program, say)
    asked_to_yield = False
    while time.monotonic() < deadline:
        stack = find()
        if stack is None or stack.state.phase == "stopping":
            if stack is not None or holder(where.lock) is None:
                if barred:
                    raise _not_asked_for()
                starter.turn()
        elif _older(stack.version) and not (asked_to_yield or barred):
            asked_to_yield = True
            say(f"Replacing the idle stack of oddish {stack.version} ...")
            stack.state.supervisor.send(signal.SIGUSR1)
            process.wait_gone([stack.state.supervisor], min(5.0, timeout))
        elif stack.healthy():
            where.activity.touch()
            return stack
        elif stack.state.trouble:
            raise _unusable(where, stack.state.trouble)
        time.sleep(0.02)
    raise _too_late(where, timeout)


def stop(timeout: float = 75.0) -> Stopped:
    """Ask the running stack to end, wait, then kill what remains, also of one whose supervisor was killed."""
    where = layout()
    state = read_state(where)
    supervisor = holder(where.lock) or (state.supervisor if state else None)
    if supervisor is None:
        return Stopped(None)
    was_running = supervisor.alive()
    services = _services(where, supervisor)
    supervisor.send(signal.SIGTERM)
    forced = process.wait_gone([supervisor], timeout)
    services = _services(where, supervisor) or services
    postgres = [entry for name, entry in services.items() if name == "postgres" and entry.alive()]
    spared = {*postgres, *(below for entry in postgres for below in process.descendants(entry.pid))}
    others = {*services.values(), *(process.descendants(supervisor.pid) if forced else ())} - spared
    process.end(forced, steps=((signal.SIGKILL, 2.0),))
    forced += process.end_trees(others, patience=2.0)
    steps = ((signal.SIGINT, 10.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 2.0))
    process.end(postgres, steps=steps)
    if (latest := read_state(where)) is not None and latest.supervisor == supervisor:
        where.state.unlink(missing_ok=True)
    return Stopped(supervisor.pid if was_running else None, tuple(forced + postgres))


def worker_log() -> str:
    """The last lines that the worker of the local stack has logged."""
    return tail(layout().log("worker"), 8)


def _services(where: Layout, supervisor: Process) -> Mapping[str, Process]:
    """What ``supervisor`` runs, as far as it has said so."""
    state = read_state(where)
    return state.services if state is not None and state.supervisor == supervisor else {}


def _not_asked_for() -> InvalidInput:
    return InvalidInput(
        f"{DATABASE_URL} is set, and no command starts a local stack on a database that a deployment may use.",
        fix="Name the server in ODDISH_API_URL. To start one of this machine on that database: oddish up. "
        f"To use this machine's own database, unset {DATABASE_URL}.",
    )


def _too_late(where: Layout, timeout: float) -> Unavailable:
    stack = find()
    if stack is None and (hidden := holder(where.lock)) is not None:
        return Unavailable(
            f"The local stack (process {hidden.pid}) has not said where it runs within {timeout:.0f} s.\n"
            f"{_tails(where)}",
            fix="Run 'oddish down', then try again.",
        )
    if stack is None:
        return Unavailable(
            f"No local stack answered within {timeout:.0f} s, and {where.lock} is held by a process that cannot be"
            f" seen from here.\n{tail(where.log('stack'))}",
            fix="Stop the other stack, which may run in a container that shares this directory, or set ODDISH_HOME.",
        )
    what = f"The local stack (process {stack.pid}) is {stack.state.phase} and does not answer at {stack.url}"
    fix = "It may still be starting: try again in a moment, and run 'oddish down' before that if it stays so."
    return _unusable(where, f"{what} after {timeout:.0f} s.", fix)


def _unusable(where: Layout, what: str, fix: str = "Run 'oddish down', then try again.") -> Unavailable:
    if (short := shortage(where.home)) is not None:
        return Unavailable(f"{short.message} {what}\n{_tails(where)}", fix=short.fix)
    return Unavailable(f"{what}\n{_tails(where)}", fix=fix)


def _tails(where: Layout) -> str:
    ends = {log: tail(log, 8) for log in where.logs()}
    return "\n".join(f"{log}:\n{end}" for log, end in ends.items() if end)


def _older(version: str) -> bool:
    return _numbers(version) < _numbers(__version__)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]
