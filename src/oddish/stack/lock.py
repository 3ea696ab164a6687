"""Locks on files: the kernel frees one when the last process that has it open is gone.

A file also tells who has locked it. Standard library only: the command line imports it.
"""

import fcntl
import json
import os
from dataclasses import asdict
from pathlib import Path

from oddish.stack import process
from oddish.stack.process import Process


def open_lock(path: Path) -> int:
    """A descriptor to lock; whoever has it open, children that inherit it included, holds the lock."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def try_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def sign(lock: int) -> None:
    """Write into the locked file that this process has locked it."""
    text = json.dumps(asdict(process.current())).encode()
    os.pwrite(lock, text, 0)
    os.ftruncate(lock, len(text))


def holder(path: Path) -> Process | None:
    """The living process that has signed; None also when it cannot be seen from here."""
    try:
        signed = Process(**json.loads(path.read_bytes()))
        return signed if signed.alive() else None
    except (OSError, ValueError, TypeError):
        return None
