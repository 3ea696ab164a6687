"""Room on disks, and what kind of disks they are."""

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oddish.doctor.finding import Finding, ok, problem, warning
from oddish.doctor.words import size
from oddish.home import home
from oddish.room import FLOOR_BYTES
from oddish.sandbox import host

GIB = 1024**3
TOO_LITTLE, LITTLE = FLOOR_BYTES, 4 * GIB
FEW_INODES = 20_000
_SHARED = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "afs", "ceph", "lustre", "fuse.sshfs"})
_VOLATILE = frozenset({"tmpfs", "ramfs"})


@dataclass(frozen=True, slots=True)
class Space:
    """A filesystem as an ordinary user may use it; ``free_inodes`` is None where files are not counted."""

    path: Path
    kind: str
    free: int
    free_inodes: int | None
    writable: bool


def existing(path: Path) -> Path:
    """``path``, or the directory above it in which it would be made."""
    return next(candidate for candidate in (path, *path.parents) if candidate.exists())


def space(path: Path) -> Space:
    """Of the filesystem that ``path`` is on, or would be."""
    there = existing(path)
    found = os.statvfs(there)
    return Space(
        path=path,
        kind=host.filesystem(there),
        free=found.f_bavail * found.f_frsize,
        free_inodes=found.f_favail if found.f_files else None,
        writable=not found.f_flag & os.ST_RDONLY,
    )


def look() -> Iterator[Finding]:
    at_home = space(home())
    yield from judge("Disk of the state", at_home, holds_state=True)
    yield from judge("Temporary disk", space(Path(tempfile.gettempdir())))


def judge(subject: str, found: Space, *, holds_state: bool = False) -> Iterator[Finding]:
    """``holds_state``: databases and results are kept there, so that it has to be a local disk that survives."""
    other = "set ODDISH_HOME to a directory on another disk" if holds_state else "set TMPDIR to another disk"
    shown = f"{size(found.free)} free in {found.path} ({found.kind})"
    findings = []
    if not found.writable:
        findings.append(problem(subject, f"{found.path} is on a read-only {found.kind}.", f"Remount it, or {other}."))
    elif found.free < TOO_LITTLE:
        findings.append(problem(subject, f"Only {shown}.", f"Free some space, or {other}."))
    elif found.free < LITTLE:
        findings.append(warning(subject, f"Only {shown}.", f"Free some space, or {other}."))
    if found.free_inodes is not None and found.free_inodes < FEW_INODES:
        findings.append(
            warning(
                subject,
                f"Only {found.free_inodes} more files fit in {found.path} ({found.kind}).",
                f"Delete directories with many small files, or {other}.",
            )
        )
    if holds_state and found.kind in _SHARED:
        findings.append(
            warning(
                subject,
                f"{found.path} is on {found.kind}: databases and locks are not safe there, sandboxes do not start.",
                "Set ODDISH_HOME to a directory on a local disk.",
            )
        )
    if holds_state and found.kind in _VOLATILE:
        findings.append(
            warning(
                subject,
                f"{found.path} is in memory ({found.kind}): what ran is gone after a restart.",
                "Set ODDISH_HOME to a directory on a disk.",
            )
        )
    yield from findings or [ok(subject, shown)]
