"""What is still on this machine of sandboxes and processes that should be gone. It only looks."""

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from chaos.facts import Leftover

CGROUPS = Path("/sys/fs/cgroup")
SHARED = frozenset({"tasks", "engines"})
"""Directories of all workers of one home."""


def of_attempts(homes: Collection[Path], tag: str) -> list[Leftover]:
    """What belongs to attempts, none of which runs any more. ``tag`` is in the names of all tasks."""
    return [*_sandboxes(homes, tag), *_attempt_directories(homes), *_mounts(tag), *_cgroups(tag), *_inside(tag)]


def of_workers(homes: Collection[Path], disks: Collection[Path]) -> list[Leftover]:
    """What belongs to servers and workers, all of which have ended. ``disks`` are meant to be mounted."""
    return [
        *(Leftover("directory", str(path)) for home in homes for path in _worker_directories(home)),
        *(Leftover("mount", point) for point in _mount_points() if _below(point, homes) and Path(point) not in disks),
        *_processes(homes),
    ]


def _below(point: str, homes: Collection[Path]) -> bool:
    return any(Path(point).is_relative_to(home) for home in homes)


def _sandboxes(homes: Collection[Path], tag: str) -> Iterator[Leftover]:
    for home in homes:
        yield from (Leftover("sandbox", str(path)) for path in (home / "sandboxes").glob(f"*{tag}*"))


def _attempt_directories(homes: Collection[Path]) -> Iterator[Leftover]:
    for home in homes:
        for worker in _worker_directories(home):
            yield from (Leftover("directory", str(path)) for path in worker.iterdir() if path.is_dir())


def _worker_directories(home: Path) -> list[Path]:
    work = home / "work"
    return [path for path in work.iterdir() if path.is_dir() and path.name not in SHARED] if work.exists() else []


def _mounts(tag: str) -> Iterator[Leftover]:
    yield from (Leftover("mount", point) for point in _mount_points() if tag in point)


def _mount_points() -> list[str]:
    return [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]


def _cgroups(tag: str) -> Iterator[Leftover]:
    for directory, names, _ in os.walk(CGROUPS):
        yield from (Leftover("cgroup", f"{directory}/{name}") for name in names if tag in name)


def _inside(tag: str) -> Iterator[Leftover]:
    """Processes whose view of the file system is that of a sandbox."""
    for pid in _pids():
        if tag in _read(pid, "mountinfo"):
            yield Leftover("process", f"{pid} {_command(pid)}")


def _processes(homes: Collection[Path]) -> Iterator[Leftover]:
    for pid in _pids():
        told = _read(pid, "environ") + _read(pid, "cmdline")
        if any(str(home) in told for home in homes):
            yield Leftover("process", f"{pid} {_command(pid)}")


def _pids() -> list[int]:
    own = os.getpid()
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and int(entry.name) != own]


def _command(pid: int) -> str:
    return _read(pid, "cmdline").replace("\0", " ").strip()[:160]


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes().decode(errors="replace")
    except OSError:
        return ""
