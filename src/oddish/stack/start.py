"""Starting a supervisor in the background. Standard library only: the command line imports it."""

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from oddish.errors import Unavailable
from oddish.room import shortage
from oddish.stack.environment import stack_environment
from oddish.stack.layout import Layout
from oddish.stack.logs import open_log, tail

DETACHED = "--detached"
LOCK_HELD = 75
PROGRAM = (sys.executable, "-P", "-m", "oddish.stack", DETACHED)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.3, 5.0


class Starter:
    """Starts a supervisor, again ever later while another one holds the lock, and once at once when it was killed."""

    def __init__(self, where: Layout, program: Sequence[str], say: Callable[[str], None]) -> None:
        self._where = where
        self._program = program
        self._say = say
        self._log = where.log("stack")
        self._log_start = 0
        self._pid: int | None = None
        self._said = False
        self._due = 0.0
        self._pause = _FIRST_PAUSE
        self._killed_before = False

    def turn(self) -> None:
        """Do what is due now. Raises ``Unavailable`` with the end of the log when a start has failed."""
        if self._pid is not None:
            self._note_end(self._pid)
        if self._pid is None and time.monotonic() >= self._due:
            self._start()

    def _start(self) -> None:
        if not self._said:
            self._said = True
            self._say("Starting the local stack ...")
        try:
            self._where.create()
            self._log_start = self._log.stat().st_size if self._log.exists() else 0
            self._pid = _spawn_detached(self._program, self._log, self._where.home)
        except OSError as error:
            raise Unavailable(
                f"{self._where.home}, the directory for local state, cannot be used: {error.strerror}.",
                fix="Set ODDISH_HOME to a directory of yours.",
            ) from error

    def _note_end(self, pid: int) -> None:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended == 0:
            return
        self._pid = None
        code = os.waitstatus_to_exitcode(status)
        if code in (0, LOCK_HELD):
            self._due = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        elif code < 0 and not self._killed_before:
            self._killed_before = True
        else:
            raise self._failed(code)

    def _failed(self, code: int) -> Unavailable:
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"status {code}"
        what = f"The local stack did not start ({how})"
        reasons = tail(self._log, since=self._log_start)
        if (short := shortage(self._where.home)) is not None:
            return Unavailable(
                f"{what}. {short.message}\n{reasons}".rstrip(),
                fix="Free some space on it, or set ODDISH_HOME to a directory on another disk.",
            )
        return Unavailable(
            f"{what}:\n{reasons}" if reasons else f"{what} and has logged nothing.",
            fix=f"The whole log is {self._log}.",
        )


def _spawn_detached(program: Sequence[str], log: Path, directory: Path) -> int:
    environment = {**stack_environment(), "ODDISH_HOME": str(directory)}
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
