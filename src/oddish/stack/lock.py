"""Locks on files: the kernel frees one when the last process that has it open is gone."""

import fcntl
import os
from pathlib import Path


def open_lock(path: Path) -> int:
    """A descriptor to lock; whoever has it open, children that inherit it included, holds the lock."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def try_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
