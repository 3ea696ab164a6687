"""Find, start and stop the local stack. Standard library only and quick to import: the command line imports it."""

import os
import re
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from oddish import __version__
from oddish.errors import Unavailable
from oddish.stack import process
from oddish.stack.layout import Layout, layout
from oddish.stack.logs import open_log, tail
from oddish.stack.port import healthy, listens
from oddish.stack.process import Process
from oddish.stack.state import State, read_state
from oddish.stack.token import read_token

DETACHED = "--detached"
LOCK_HELD = 75
PROGRAM = (sys.executable, "-P", "-m", "oddish.stack", DETACHED)
FOREIGN = ("ODDISH_API_URL", "ODDISH_API_KEY", "ODDISH_PREVIEW_PR")
"""Variables of a command that uses another server: the stack's own processes must not see them."""
_PAUSE = 0.3


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


def ensure(
    timeout: float = 60.0, *, say: Callable[[str], None] = lambda line: None, program: Sequence[str] = PROGRAM
) -> Stack:
    """A stack that answers ``/health``: the running one, else one started in the background. Counts as its use.

    Concurrent callers end with one stack, whose supervisor holds a lock. An older one with nothing to do is
    replaced. ``say`` is told what takes time. Raises ``Unavailable`` with the end of the log that explains it.
    """
    where = layout()
    deadline = time.monotonic() + timeout
    start: _Start | None = None
    asked_to_yield = False
    while time.monotonic() < deadline:
        stack = find()
        if stack is None or stack.state.phase == "stopping":
            if start is None or start.over():
                say("Starting the local stack ...")
                start = _Start(where, program)
        elif _older(stack.version) and not asked_to_yield:
            asked_to_yield = True
            say(f"Replacing the idle stack of oddish {stack.version} ...")
            stack.state.supervisor.send(signal.SIGUSR1)
            process.wait_gone([stack.state.supervisor], min(5.0, timeout))
        elif stack.healthy():
            where.activity.touch()
            return stack
        elif stack.state.trouble:
            raise Unavailable(f"{stack.state.trouble}\n{_tails(where)}", fix="Run 'oddish down', then try again.")
        time.sleep(0.02)
    raise _too_late(where, timeout)


def stop(timeout: float = 75.0) -> Stopped:
    """Ask the running stack to end, wait, then kill what remains, also of one whose supervisor was killed."""
    where = layout()
    state = read_state(where)
    if state is None:
        return Stopped(None)
    supervisor = state.supervisor
    was_running = supervisor.alive()
    supervisor.send(signal.SIGTERM)
    forced = process.wait_gone([supervisor], timeout)
    if (latest := read_state(where)) is not None and latest.supervisor == supervisor:
        state = latest
    postgres = [entry for name, entry in state.services.items() if name == "postgres" and entry.alive()]
    spared = {*postgres, *(below for entry in postgres for below in process.descendants(entry.pid))}
    others = {*state.services.values(), *(process.descendants(state.pid) if forced else ())} - spared
    process.end(forced, steps=((signal.SIGKILL, 2.0),))
    forced += process.end_trees(others, patience=2.0)
    steps = ((signal.SIGINT, 10.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 2.0))
    process.end(postgres, steps=steps)
    if (latest := read_state(where)) is not None and latest.supervisor == supervisor:
        where.state.unlink(missing_ok=True)
    return Stopped(state.pid if was_running else None, tuple(forced + postgres))


class _Start:
    """An attempt to start a supervisor in the background."""

    def __init__(self, where: Layout, program: Sequence[str]) -> None:
        try:
            where.create()
        except OSError as error:
            raise Unavailable(
                f"{where.home}, the directory for local state, cannot be used: {error.strerror}.",
                fix="Set ODDISH_HOME to a directory of yours.",
            ) from error
        self._log = where.log("stack")
        self._log_start = self._log.stat().st_size if self._log.exists() else 0
        self._began = time.monotonic()
        self._pid: int | None = _spawn_detached(program, self._log, where.home)

    def over(self) -> bool:
        """Whether it ended because another one holds the lock, a moment ago; any other end is raised."""
        if self._pid is None:
            return time.monotonic() - self._began > _PAUSE
        ended, status = os.waitpid(self._pid, os.WNOHANG)
        if ended == 0:
            return False
        self._pid = None
        code = os.waitstatus_to_exitcode(status)
        if code in (0, LOCK_HELD):
            return False
        raise Unavailable(
            f"The local stack did not start (status {code}):\n{tail(self._log, since=self._log_start)}",
            fix=f"The whole log is {self._log}.",
        )


def _spawn_detached(program: Sequence[str], log: Path, directory: Path) -> int:
    environment = {key: value for key, value in os.environ.items() if key not in FOREIGN}
    environment["ODDISH_HOME"] = str(directory)
    output = open_log(log)
    try:
        return os.posix_spawn(
            program[0],
            list(program),
            environment,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, output, 1),
                (os.POSIX_SPAWN_DUP2, output, 2),
            ],
            setsid=True,
        )
    finally:
        os.close(output)


def _too_late(where: Layout, timeout: float) -> Unavailable:
    stack = find()
    if stack is None:
        return Unavailable(
            f"No local stack answered within {timeout:.0f} s, and {where.lock} is held by a process that cannot be"
            f" seen from here.\n{tail(where.log('stack'))}",
            fix="Stop the other stack, which may run in a container that shares this directory, or set ODDISH_HOME.",
        )
    what = f"The local stack (process {stack.pid}) is {stack.state.phase} and does not answer at {stack.url}"
    return Unavailable(f"{what} after {timeout:.0f} s.\n{_tails(where)}", fix="Run 'oddish down', then try again.")


def _tails(where: Layout) -> str:
    ends = {log: tail(log, 8) for log in where.logs()}
    return "\n".join(f"{log}:\n{end}" for log, end in ends.items() if end)


def _older(version: str) -> bool:
    return _numbers(version) < _numbers(__version__)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]
