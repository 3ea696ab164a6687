"""Real processes that a test starts, kills, freezes and starts again, by name, each with a log of its own."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from oddish.stack import process
from oddish.stack.leash import leashed
from oddish.stack.postgres import EmbeddedPostgres
from oddish.stack.process import Process

type Event = dict[str, Any]

PATIENCE = 90.0
"""Seconds to become ready, or to end in good order."""


class Unit(Protocol):
    """What can be done to each of them. Times are in seconds."""

    name: str

    @property
    def pid(self) -> int | None:
        """While it runs, frozen or not."""

    def launch(self) -> None:
        """Start it, unless it runs."""

    def wait_ready(self, timeout: float = PATIENCE) -> None: ...

    def stop(self, timeout: float = PATIENCE) -> int | None:
        """End it in good order; its exit code."""

    def kill(self) -> None: ...


class Launcher:
    """Starts processes from a thread that lives as long as they may: they end with the thread that started them."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="launcher")

    def run[Result](self, work: Callable[[], Result]) -> Result:
        return self._thread.submit(work).result()

    def close(self) -> None:
        self._thread.shutdown()


@dataclass
class Program:
    """A command. ``ready`` looks whether it can be used; ``environment`` counts from the next start on."""

    name: str
    command: Sequence[str]
    environment: dict[str, str]
    log: Path
    ready: Callable[["Program"], bool]
    launcher: Launcher
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _since: int = 0

    @property
    def pid(self) -> int | None:
        running = self._process is not None and self._process.poll() is None
        return self._process.pid if self._process is not None and running else None

    @property
    def exit_code(self) -> int | None:
        """Of its last life, minus the signal's number when one ended it; None while it runs."""
        return None if self._process is None else self._process.poll()

    def launch(self) -> None:
        if self.pid is not None:
            return
        self._since = self.log.stat().st_size if self.log.exists() else 0
        self._process = self.launcher.run(self._started)

    def _started(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                leashed(signal.SIGKILL, *self.command),
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait_ready(self, timeout: float = PATIENCE) -> None:
        deadline = time.monotonic() + timeout
        while not self.ready(self):
            assert self.pid is not None, f"{self.name} ended with {self.exit_code}:\n{self.tail()}"
            assert time.monotonic() < deadline, f"{self.name} is not ready after {timeout:.0f} s:\n{self.tail()}"
            time.sleep(0.05)

    def stop(self, timeout: float = PATIENCE) -> int | None:
        return self._ended_by(signal.SIGTERM, timeout)

    def kill(self) -> None:
        self._ended_by(signal.SIGKILL, PATIENCE)

    def _ended_by(self, number: signal.Signals, timeout: float) -> int | None:
        if self._process is None:
            return None
        self._process.send_signal(number)
        return self._process.wait(timeout)

    def events(self, *, all_lives: bool = False) -> Iterator[Event]:
        """The JSON lines of its log, by default those of its last life only."""
        if not self.log.exists():
            return
        with self.log.open("rb") as log:
            log.seek(0 if all_lives else self._since)
            for line in log:
                with suppress(ValueError):
                    if isinstance(event := json.loads(line), dict):
                        yield event

    def tail(self) -> str:
        return self.log.read_text(errors="replace")[-4000:] if self.log.exists() else ""


class Database:
    """A PostgreSQL that servers and workers know by its URL only. Its data survive every end."""

    name = "database"

    def __init__(self, server: EmbeddedPostgres, launcher: Launcher) -> None:
        self.server = server
        self._launcher = launcher

    @property
    def pid(self) -> int | None:
        return self.server.pid

    def launch(self) -> None:
        self._launcher.run(self.server.start)

    def wait_ready(self, timeout: float = PATIENCE) -> None:
        """``launch`` has waited."""

    def stop(self, timeout: float = PATIENCE) -> int | None:
        self.server.stop(timeout)
        return 0

    def kill(self) -> None:
        """The postmaster alone: its backends notice and end."""
        if (pid := self.pid) is None:
            return
        os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + PATIENCE
        while self.pid is not None:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def below(pid: int | None) -> list[Process]:
    """Every living process that ``pid`` has started, directly or not."""
    return [] if pid is None else process.descendants(pid)


def fork_servers(worker: int | None) -> list[int]:
    """Process ids of the engines of a worker, one for each Harbor in use."""
    return [pid for pid in children(worker) if any("forkserver" in part for part in process.command_line(pid))]


def children(pid: int | None) -> list[int]:
    """Living direct children."""
    return [] if pid is None else [child for child in process.children(pid) if process.started(child) is not None]


def environment(base: Mapping[str, str], *layers: Mapping[str, str | None]) -> dict[str, str]:
    """``base`` with each layer over it; None takes a variable away."""
    merged: dict[str, str | None] = dict(base)
    for layer in layers:
        merged |= layer
    return {name: value for name, value in merged.items() if value is not None}
