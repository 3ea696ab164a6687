"""Whether a disk has room for what runs on it. Standard library only: the command line imports it."""

import errno
import os
from dataclasses import dataclass
from pathlib import Path

MIB = 1024**2
FLOOR_BYTES = 256 * MIB
"""With less than this, workers begin no trials; what runs goes on."""


@dataclass(frozen=True, slots=True)
class Shortage:
    """A disk that is nearly or wholly full."""

    directory: Path
    free: int
    """Bytes."""

    @property
    def message(self) -> str:
        return (
            f"The disk of {self.directory} has only {self.free // MIB} MiB free: no trial begins below "
            f"{FLOOR_BYTES // MIB} MiB, and a full one stops the database."
        )

    @property
    def phrase(self) -> str:
        """What whoever has this disk does."""
        return f"has only {self.free // MIB} MiB of disk left and begins nothing below {FLOOR_BYTES // MIB} MiB"

    @property
    def fix(self) -> str:
        return "Free some space on that disk; everything goes on by itself then."

    def __str__(self) -> str:
        return f"{self.message} {self.fix}"


def is_full(error: OSError) -> bool:
    """Whether it is for want of space on a disk, or of the user's share of it."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def free_bytes(directory: Path) -> int:
    """Of the disk of ``directory``, for an ordinary user. Raises OSError."""
    disk = os.statvfs(directory)
    return disk.f_bavail * disk.f_frsize


def shortage(directory: Path) -> Shortage | None:
    """None also for a directory that is not there."""
    try:
        free = free_bytes(directory)
    except OSError:
        return None
    return Shortage(directory, free) if free < FLOOR_BYTES else None
