"""Processor time of processes, from /proc."""

import os
from pathlib import Path

from oddish.stack import process

TICK = os.sysconf("SC_CLK_TCK")
OWN = slice(11, 13)
WITH_ENDED_CHILDREN = slice(11, 15)


def own(pid: int) -> float:
    """Seconds of the process alone."""
    return _seconds(pid, OWN)


def below(pid: int) -> float:
    """Seconds of everything that it started and that runs, with the ended children of that."""
    return sum(_seconds(entry.pid, WITH_ENDED_CHILDREN) for entry in process.descendants(pid))


def whole(pid: int) -> float:
    """Seconds of the process and of everything that it has started."""
    return _seconds(pid, WITH_ENDED_CHILDREN) + below(pid)


def _seconds(pid: int, which: slice) -> float:
    try:
        fields = (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[which])) / TICK
