"""Removing what sandboxes left behind whose keeper was killed, or whose machine was."""

import contextlib
import fcntl
import os
import time
from pathlib import Path

from oddish.removal import delete, delete_discarded, discard
from oddish.sandbox import cgroup, keeper

_OLD_SECONDS = 3600
_YOUNG_SECONDS = 60
LOCK = "lock"
"""File in a sandbox's directory: holds the sandbox's name, and is locked for as long as its keeper lives."""
_UNLOCKED = "lock.new"
"""Its name until it is locked and complete: under ``LOCK`` nobody ever finds it free while its sandbox starts."""


def claim(directory: Path, name: str) -> int:
    """Make and lock the directory of a new sandbox; whoever has the descriptor open holds the lock.

    When that is not possible, on a full disk for example, nothing of it is left.
    """
    directory.mkdir(mode=0o700, parents=True)
    with contextlib.ExitStack() as undoing:
        undoing.callback(delete, str(directory))
        descriptor = os.open(directory / _UNLOCKED, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        undoing.callback(os.close, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.write(descriptor, name.encode())
        (directory / _UNLOCKED).rename(directory / LOCK)
        undoing.pop_all()
    return descriptor


def sweep(scratch: Path) -> tuple[str, ...]:
    """Delete directories and control groups of sandboxes below ``scratch`` that nobody keeps; their names."""
    removed = []
    if scratch.exists():
        delete_discarded(str(scratch))
    _remove_unfinished(scratch)
    for lock in scratch.glob(f"*/{LOCK}"):
        with contextlib.suppress(OSError), lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not _is_still(lock, file.fileno()):
                continue
            name = file.read()
            if all(keeper.remove_group(str(group)) for group in cgroup.paths(name)):
                discard(str(lock.parent))
                removed.append(name)
    _remove_old_groups()
    return tuple(removed)


def _remove_unfinished(scratch: Path) -> None:
    """Directories whose maker was killed before they were claimed. In the youngest ones that may yet happen."""
    for lock in scratch.glob(f"*/{_UNLOCKED}"):
        with contextlib.suppress(OSError), lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if time.time() - lock.stat().st_mtime > _YOUNG_SECONDS:
                discard(str(lock.parent))


def _is_still(lock: Path, descriptor: int) -> bool:
    """False when a sandbox ended and another took its directory before the first one's lock was ours."""
    return os.path.samestat(lock.stat(), os.fstat(descriptor))


def _remove_old_groups() -> None:
    """Empty groups whose directory is gone. Younger ones may belong to a sandbox that is just starting."""
    for hierarchy in cgroup.hierarchies():
        for group in hierarchy.directory.glob(f"{cgroup.PREFIX}*"):
            with contextlib.suppress(OSError):
                if time.time() - group.stat().st_mtime > _OLD_SECONDS:
                    group.rmdir()
