"""The supervisor's children: started in order, restarted when they end, stopped in reverse."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from oddish.errors import EXIT_UNREADABLE_SETTING, InvalidInput, Unavailable
from oddish.stack import process
from oddish.stack.cluster import is_backend
from oddish.stack.layout import Layout
from oddish.stack.logs import tail
from oddish.stack.process import Process
from oddish.stack.restart import Restart
from oddish.stack.service import Service


class Member(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def pid(self) -> int | None:
        """While it runs; asking reaps it when it has ended."""

    def start(self) -> None:
        """Raises ``InvalidInput`` when it has ended in a way that no other start would change."""

    def stop(self) -> None: ...


class ServiceMember:
    def __init__(self, service: Service, layout: Layout, listener: socket.socket) -> None:
        self.name = service.name
        self._service = service
        self._layout = layout
        self._listener = listener
        self._child: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child is not None and self._child.poll() is None else None

    def start(self) -> None:
        log = self._layout.log(self.name)
        if self._child is not None and self._child.poll() == EXIT_UNREADABLE_SETTING:
            said = tail(log, since=self._log_start)
            raise InvalidInput(f"The {self.name} of the local stack cannot start with these settings:\n{said}")
        self._log_start = log.stat().st_size if log.exists() else 0
        self._child = self._service.spawn(self._layout, self._listener)

    def stop(self) -> None:
        if self._child is None:
            return
        self._child.terminate()
        try:
            self._child.wait(self._service.patience)
        except subprocess.TimeoutExpired:
            below = process.descendants(self._child.pid)
            self._child.kill()
            self._child.wait()
            process.end(below, steps=((signal.SIGKILL, 2.0),))


class Family:
    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._members: list[Member] = []
        self._restarts: dict[str, Restart] = {}

    def add(self, member: Member) -> None:
        """Start ``member`` and keep it running from now on."""
        self._members.append(member)
        self._restarts[member.name] = Restart()
        self._start(member)

    def processes(self) -> dict[str, Process]:
        return {
            member.name: running
            for member in self._members
            if (pid := member.pid) is not None and (running := process.process(pid)) is not None
        }

    @property
    def troubled(self) -> Sequence[str]:
        """The names of those that keep ending."""
        return [name for name, restart in self._restarts.items() if restart.troubled]

    def tend(self) -> bool:
        """Reap, end orphans, restart what is due; whether anything changed."""
        changed = False
        for member in self._members:
            restart = self._restarts[member.name]
            if member.pid is not None:
                changed |= restart.note_alive(time.monotonic())
                continue
            changed = True
            if not restart.ended:
                self._note_end(member, "it ended")
            if restart.due <= time.monotonic():
                try:
                    self._start(member)
                except (Unavailable, OSError) as error:
                    self._note_end(member, str(error))
        self._reap_adopted()
        return changed

    def hurry(self) -> None:
        """Let restarts be due now: what kept their members from running is over."""
        for restart in self._restarts.values():
            restart.due = min(restart.due, time.monotonic())

    def wait(self) -> float:
        """Seconds until a restart is due."""
        dues = [restart.due for restart in self._restarts.values() if restart.ended]
        return max(0.0, min(dues, default=float("inf")) - time.monotonic())

    def stop(self) -> None:
        for member in reversed(self._members):
            member.stop()
            self._end_adopted()
        self._members.clear()

    def _start(self, member: Member) -> None:
        self._restarts[member.name].note_start(time.monotonic())
        member.start()

    def _note_end(self, member: Member, reason: str) -> None:
        restart = self._restarts[member.name]
        restart.note_end(time.monotonic())
        self._report(f"{member.name}: {reason}; starting it again in {restart.delay:.1f} s")
        self._end_adopted()

    def _adopted(self) -> list[int]:
        known = {member.pid for member in self._members}
        return [pid for pid in process.children(os.getpid()) if pid not in known]

    def _end_adopted(self) -> None:
        """Kill what dead children left behind, level by level; PostgreSQL's processes are its own cluster's matter."""
        while orphans := [
            living
            for pid in self._adopted()
            if not is_backend(process.command_line(pid)) and (living := process.process(pid)) is not None
        ]:
            if process.end(orphans, steps=((signal.SIGKILL, 2.0),)):
                self._report("cannot end " + ", ".join(str(orphan.pid) for orphan in orphans))
                break
        self._reap_adopted()

    def _reap_adopted(self) -> None:
        for pid in self._adopted():
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
