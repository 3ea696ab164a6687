"""Small disks in memory that can be filled to the last byte and freed again."""

import errno
import os
import subprocess
from contextlib import suppress
from pathlib import Path

BALLAST = ".ballast"


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
        free = os.statvfs(self.point)
        size = free.f_bavail * free.f_frsize
        descriptor = os.open(self.point / BALLAST, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            while size > 0:
                try:
                    os.posix_fallocate(descriptor, 0, size)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    size -= free.f_frsize * 16
                else:
                    return size
        finally:
            os.close(descriptor)
        return 0

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
