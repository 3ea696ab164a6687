"""Processes by identity: a pid together with the moment it started, so that a reused pid is never mistaken for ours.

Standard library only: the command line imports it.
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
_ZOMBIES = ("Z", "X", "x")


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    started: str

    def alive(self) -> bool:
        return started(self.pid) == self.started

    def send(self, number: signal.Signals) -> None:
        if self.alive():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, number)


def started(pid: int) -> str | None:
    """An opaque mark of when ``pid`` started; None when nothing runs under it (a zombie does not run)."""
    if not sys.platform.startswith("linux"):
        return _started_by_ps(pid)
    fields = _stat_fields(pid)
    if fields is None or fields[0] in _ZOMBIES:
        return None
    return f"{_boot_id()}:{fields[19]}"


def process(pid: int) -> Process | None:
    mark = started(pid)
    return None if mark is None else Process(pid, mark)


def current() -> Process:
    mark = started(os.getpid())
    return Process(os.getpid(), mark or "")


def children(pid: int) -> list[int]:
    """Direct children of ``pid``, zombies included."""
    return [other for other in _pids() if (fields := _stat_fields(other)) is not None and int(fields[1]) == pid]


def descendants(pid: int) -> list[Process]:
    """Every living process below ``pid``, parents before their children."""
    parents: dict[int, list[int]] = {}
    for other in _pids():
        if (fields := _stat_fields(other)) is not None:
            parents.setdefault(int(fields[1]), []).append(other)
    found: list[Process] = []
    queue = list(parents.get(pid, ()))
    while queue:
        current = queue.pop(0)
        queue.extend(parents.get(current, ()))
        if (living := process(current)) is not None:
            found.append(living)
    return found


def matching(accept: Callable[[Sequence[str]], bool]) -> list[Process]:
    """Living processes whose argument vector is accepted."""
    return [
        living
        for pid in _pids()
        if (arguments := command_line(pid)) and accept(arguments) and (living := process(pid)) is not None
    ]


def command_line(pid: int) -> list[str]:
    """The arguments of ``pid``; none for a zombie or a stranger hidden from us."""
    try:
        raw = (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return []
    return [part.decode(errors="replace") for part in raw.rstrip(b"\0").split(b"\0")] if raw else []


def wait_gone(processes: Iterable[Process], timeout: float) -> list[Process]:
    """Those still alive when every one has ended or ``timeout`` seconds have passed."""
    deadline = time.monotonic() + timeout
    pause = 0.002
    left = [entry for entry in processes if entry.alive()]
    while left and time.monotonic() < deadline:
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)
        left = [entry for entry in left if entry.alive()]
    return left


def end(processes: Iterable[Process], *, steps: Iterable[tuple[signal.Signals, float]]) -> list[Process]:
    """Send each signal in turn to what is still alive, waiting its seconds; the rest that survived all of them."""
    left = [entry for entry in processes if entry.alive()]
    for number, patience in steps:
        for entry in left:
            entry.send(number)
        left = wait_gone(left, patience)
        if not left:
            break
    return left


def end_trees(roots: Iterable[Process], patience: float) -> list[Process]:
    """Ask each root to end, then kill what remains of it and of everything below it; the killed ones."""
    roots = [root for root in roots if root.alive()]
    trees = {*roots, *(below for root in roots for below in descendants(root.pid))}
    end(roots, steps=((signal.SIGTERM, patience),))
    killed = [entry for entry in trees if entry.alive()]
    end(killed, steps=((signal.SIGKILL, 2.0),))
    return killed


def _pids() -> Iterator[int]:
    with contextlib.suppress(FileNotFoundError):
        yield from (int(name) for name in os.listdir(PROC) if name.isdigit())  # noqa: PTH208 - scandir costs a stat


def _stat_fields(pid: int) -> list[str] | None:
    """The fields of ``/proc/<pid>/stat`` after the command name: state, parent, ..."""
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def _boot_id() -> str:
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _started_by_ps(pid: int) -> str | None:
    import subprocess

    answer = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False, timeout=10
    ).stdout.split(maxsplit=1)
    return None if len(answer) < 2 or answer[0].startswith(_ZOMBIES) else answer[1].strip()
