"""Killing all that a command has started, from within its namespaces. Standard library only: the keeper imports it."""

import contextlib
import os
import signal
import time

_ROUNDS = 50
_STILL_SECONDS = 0.2


def kill_tree(pid: int, inside: int) -> None:
    """SIGKILL for a command, its session and its descendants. ``/proc`` numbers them as the sandbox does.

    They are stopped first: what starts processes without end would be faster than its end.
    """
    stopped: set[int] = set()
    for _ in range(_ROUNDS):
        more = _tree(inside) - stopped
        if not more:
            break
        for victim in more:
            _signal_inside(victim, signal.SIGSTOP)
        stopped |= more
        _wait_until_still(more)
    for victim in stopped:
        _signal_inside(victim, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _wait_until_still(pids: set[int]) -> None:
    """A process that is just starting another one does so before it stops: only then has it no new child."""
    deadline = time.monotonic() + _STILL_SECONDS
    for pid in pids:
        while _moves(pid) and time.monotonic() < deadline:
            time.sleep(0.001)


def _moves(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            return file.read().rpartition(b")")[2].split()[0] not in (b"T", b"t", b"Z", b"X")
    except OSError:
        return False


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
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
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
