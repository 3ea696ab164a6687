"""Control groups of one sandbox, version 1 or 2, where this process may make them."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from oddish.sandbox import host
from oddish.sandbox.spec import Limits

_CONTROLLERS = ("memory", "pids", "cpu")
PREFIX = "oddish-"
_PERIOD_MICROSECONDS = 100_000
_ORDINARY_SHARES = 1024
_ORDINARY_WEIGHT = 100
"""What the kernel gives to everything that asks for nothing, in the units of version 1 and of version 2."""
_PER_CPU = 0.1
"""What one CPU that a sandbox asks for weighs, in ordinary weights: a worker and a database stay responsive."""


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Where groups for children of this process can be made. ``controllers`` are those it really has."""

    directory: Path
    version: int
    controllers: frozenset[str]


def parse_membership(text: str) -> dict[str, str]:
    """``/proc/self/cgroup``: controller -> path of the group; the unified hierarchy has the empty controller."""
    result = {}
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            result[controller] = path
    return result


def _directory(mount: host.Mount, path: str) -> Path:
    relative = os.path.relpath(path, mount.root) if path.startswith(mount.root) else "."
    return mount.point / relative


def _version_1(membership: dict[str, str]) -> Iterator[Hierarchy]:
    for mount in host.mounts():
        found = frozenset(_CONTROLLERS) & mount.options
        if mount.kind != "cgroup" or not found:
            continue
        directory = _directory(mount, membership.get(min(found), "/"))
        if os.access(directory, os.W_OK):
            yield Hierarchy(directory, 1, found)


def _version_2(membership: dict[str, str]) -> Iterator[Hierarchy]:
    for mount in host.mounts():
        if mount.kind != "cgroup2" or "" not in membership:
            continue
        own = _directory(mount, membership[""])
        for directory in (own, *own.parents):
            if not directory.is_relative_to(mount.point):
                break
            if found := _enabled(directory):
                yield Hierarchy(directory, 2, found)
                return


def _enabled(directory: Path) -> frozenset[str]:
    """Controllers that children of ``directory`` have, after asking for those that are missing."""
    control = directory / "cgroup.subtree_control"
    if not os.access(directory, os.W_OK) or not os.access(directory / "cgroup.procs", os.W_OK):
        return frozenset()
    for controller in _CONTROLLERS:
        with contextlib.suppress(OSError):
            control.write_text(f"+{controller}")
    return frozenset(control.read_text().split()) & frozenset(_CONTROLLERS)


@cache
def hierarchies() -> tuple[Hierarchy, ...]:
    """Empty where control groups are read-only for this process or not mounted."""
    try:
        membership = parse_membership(Path("/proc/self/cgroup").read_text())
    except OSError:
        return ()
    return (*_version_1(membership), *_version_2(membership))


def controllers() -> frozenset[str]:
    """Which of memory, pids and cpu can be bounded here."""
    return frozenset[str]().union(*(hierarchy.controllers for hierarchy in hierarchies()))


def paths(name: str) -> tuple[Path, ...]:
    """The groups of the sandbox ``name``, made or not."""
    return tuple(hierarchy.directory / f"{PREFIX}{name}" for hierarchy in hierarchies())


@cache
def most_memory() -> int:
    """Bytes that a sandbox may have which names no limit: something is left for the rest of the machine."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return total - max(total // 8, min(total // 2, 1024**3))


def create(name: str, limits: Limits) -> None:
    """Make the groups of one sandbox and set its limits."""
    limits = limits if limits.memory_bytes else replace(limits, memory_bytes=most_memory())
    for hierarchy, group in zip(hierarchies(), paths(name), strict=True):
        group.mkdir()
        for file, value in settings(hierarchy.version, limits).items():
            if (group / file).exists():
                (group / file).write_text(value)


def settings(version: int, limits: Limits) -> dict[str, str]:
    """Control file -> value, in the order in which the kernel accepts them."""
    result = {"pids.max": str(limits.processes)}
    weight = min(1.0, limits.cpu_weight * _PER_CPU)
    if version == 1:
        if limits.memory_bytes is not None:
            result["memory.limit_in_bytes"] = str(limits.memory_bytes)
            result["memory.memsw.limit_in_bytes"] = str(limits.memory_bytes)
        result["cpu.shares"] = str(max(2, round(weight * _ORDINARY_SHARES)))
        if limits.cpu_quota is not None:
            result["cpu.cfs_period_us"] = str(_PERIOD_MICROSECONDS)
            result["cpu.cfs_quota_us"] = str(max(1000, round(limits.cpu_quota * _PERIOD_MICROSECONDS)))
        return result
    if limits.memory_bytes is not None:
        result["memory.max"] = str(limits.memory_bytes)
        result["memory.swap.max"] = "0"
    result["cpu.weight"] = str(max(1, round(weight * _ORDINARY_WEIGHT)))
    if limits.cpu_quota is not None:
        result["cpu.max"] = f"{max(1000, round(limits.cpu_quota * _PERIOD_MICROSECONDS))} {_PERIOD_MICROSECONDS}"
    return result
