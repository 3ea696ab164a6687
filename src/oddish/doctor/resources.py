"""Processors, memory and the limits of this process."""

import os
import resource
from collections.abc import Iterator
from pathlib import Path

from oddish.doctor.finding import Finding, ok, warning
from oddish.doctor.words import plural, size

MIB = 1024**2
LITTLE_MEMORY = 1024 * MIB
FEW_FILES = 1024
_CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def look() -> Iterator[Finding]:
    count = os.cpu_count() or 1
    yield judge_processors(count, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else count)
    if (text := _read(Path("/proc/meminfo"))) is not None:
        yield judge_memory(text, next((limit for path in _CGROUP_LIMITS if (limit := _read(path))), None))
    yield judge_files(*resource.getrlimit(resource.RLIMIT_NOFILE))


def judge_processors(count: int, usable: int) -> Finding:
    trials = plural(2 * count, "trial")
    if usable < count:
        return warning(
            "Processors",
            f"This process may use {usable} of {count}, and a worker runs {trials} at once unless told otherwise.",
            f"Set ODDISH_WORKER_CONCURRENCY={2 * usable}.",
        )
    return ok("Processors", f"{count}: a worker runs {trials} at once unless told otherwise")


def judge_memory(meminfo: str, group_limit: str | None = None) -> Finding:
    """``meminfo`` is ``/proc/meminfo``; ``group_limit`` what the control group of a container says, as text."""
    fields = dict(line.partition(":")[::2] for line in meminfo.splitlines())
    available, total = (1024 * int(fields[name].split()[0]) for name in ("MemAvailable", "MemTotal"))
    limit = int(group_limit) if group_limit is not None and group_limit.strip().isdecimal() else total
    shown = f"{size(min(available, limit))} of {size(min(total, limit))} available"
    if limit < total:
        shown += ", the limit of this container"
    if min(available, limit) < LITTLE_MEMORY:
        return warning(
            "Memory", f"Only {shown}.", "End other programs, or run fewer trials at once: ODDISH_WORKER_CONCURRENCY=1"
        )
    return ok("Memory", shown)


def judge_files(soft: int, hard: int) -> Finding:
    """``soft`` and ``hard`` are the limits of open files; the worker and the server need a few for each trial."""
    subject = "Open files"
    if soft != resource.RLIM_INFINITY and soft < FEW_FILES:
        enough = hard == resource.RLIM_INFINITY or hard >= FEW_FILES
        return warning(
            subject,
            f"A process may open {soft} files, which many trials at once exceed.",
            f"Run: ulimit -n {FEW_FILES}" if enough else f"As root, raise the hard limit, which is {hard}.",
        )
    return ok(subject, "no limit" if soft == resource.RLIM_INFINITY else f"{soft} a process")


def _read(path: Path) -> str | None:
    try:
        return path.read_text()
    except OSError:
        return None
