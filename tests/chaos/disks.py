"""Small disks in memory that can be filled to the last byte and freed again."""

import os
import subprocess
from contextlib import suppress
from pathlib import Path

BALLAST = ".ballast"
PIECES = (8 * 1024 * 1024, 256 * 1024, 4096)
"""Sizes in which the space is taken, until even the smallest does not fit."""


class Disk:
    """A file system of its own at ``point``, of ``megabytes``. Needs root."""

    def __init__(self, point: Path, megabytes: int) -> None:
        self.point = point
        self._megabytes = megabytes

    def mount(self) -> None:
        self.point.mkdir(parents=True, exist_ok=True)
        options = f"size={self._megabytes}m,mode=0700"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "oddish-chaos", str(self.point)], check=True)

    def unmount(self) -> None:
        subprocess.run(["umount", "--lazy", str(self.point)], check=True)

    def fill(self) -> int:
        """Take all the space that is free; how many bytes."""
        taken = 0
        descriptor = os.open(self.point / BALLAST, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            for piece in PIECES:
                with suppress(OSError):
                    while True:
                        os.posix_fallocate(descriptor, taken, piece)
                        taken += piece
        finally:
            os.close(descriptor)
        return taken

    def free(self) -> None:
        with suppress(FileNotFoundError):
            (self.point / BALLAST).unlink()


def can_mount() -> bool:
    """Whether this process may make such disks."""
    if os.geteuid() != 0:
        return False
    probe = subprocess.run(
        ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False
    )
    return probe.returncode == 0
