"""Killing all that a command has started, from within its namespaces. Standard library only: the keeper imports it."""

import contextlib
import os
import signal
import time

_ROUNDS = 50
_STILL_SECONDS = 0.2
_END_SECONDS = 1.0
_ENDED = frozenset("ZX")
_STILL = _ENDED | frozenset("Tt")
"""States of a process, as ``/proc/PID/stat`` has them."""


def kill_tree(pid: int, inside: int) -> None:
    """SIGKILL for a command, its session and its descendants. ``/proc`` numbers them as the sandbox does.

    They are stopped first: what starts processes without end would be faster than its end. A machine with much to do
    takes a moment to end what was killed; it is waited for, so that whatever comes next meets nothing of it.
    """
    stopped: set[int] = set()
    for _ in range(_ROUNDS):
        more = _tree(inside) - stopped
        if not more:
            break
        for victim in more:
            _signal_inside(victim, signal.SIGSTOP)
        stopped |= more
        # A process that is just starting another one does so before it stops: only then has it no new child.
        _wait(more, _STILL, _STILL_SECONDS)
    for victim in stopped:
        _signal_inside(victim, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    _wait(stopped, _ENDED, _END_SECONDS)


def _wait(pids: set[int], states: frozenset[str], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    for pid in pids:
        while (fields := _stat(pid)) and fields[0] not in states and time.monotonic() < deadline:
            time.sleep(0.001)


def _stat(pid: int) -> list[str]:
    """What ``/proc/PID/stat`` has after the name: the state, the parent, ...; nothing when it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            return file.read().rpartition(b")")[2].decode().split()
    except OSError:
        return []


def _signal_inside(pid: int, number: signal.Signals) -> None:
    try:
        descriptor = os.open(f"/proc/{pid}", os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return
    with contextlib.suppress(OSError):
        signal.pidfd_send_signal(descriptor, number)
    os.close(descriptor)


def _tree(leader: int) -> set[int]:
    parents: dict[int, int] = {}
    members = {leader}
    for name in os.listdir("/proc"):  # noqa: PTH208
        if not name.isdigit() or not (fields := _stat(int(name))):
            continue
        parents[int(name)] = int(fields[1])
        if int(fields[3]) == leader:
            members.add(int(name))
    grown = True
    while grown:
        more = {child for child, parent in parents.items() if parent in members} - members
        members |= more
        grown = bool(more)
    return members
