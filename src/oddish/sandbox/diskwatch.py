"""Whether a sandbox takes more of the disk than it may. Standard library only: the keeper imports it.

Measuring a tree takes a walk through it, so it is done when the filesystem has lost as much free space since the last
walk as would be needed to exceed the limit, and now and then because others may have freed as much as was taken.
"""

import contextlib
import os
import stat
import time

from oddish.removal import used_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from oddish.sandbox.wire import Report

INTERVAL_MILLISECONDS = 200
_RESERVE_BYTES = 1024**3
_RESERVE_SHARE = 0.05
_FAIR_SHARE = 0.25
_REST_PER_WALK = 10
_LONGEST_SECONDS = 10.0
_MEBIBYTE = 1024**2
_OVERHEAD_BYTES = 16 * _MEBIBYTE
"""What directories and half-filled blocks may take beside the limit: one file as large as the limit is no breach."""


class Reserve:
    """Bytes of a filesystem that sandboxes leave to others, and what one may hold even when less is left."""

    def __init__(self, total: int, fair: int) -> None:
        self.total = total
        self.fair = fair

    @classmethod
    def of(cls, directory: str) -> "Reserve":
        status = os.statvfs(directory)
        total = min(_RESERVE_BYTES, int(status.f_blocks * status.f_frsize * _RESERVE_SHARE))
        return cls(total, int(total * _FAIR_SHARE))


class DiskWatch:
    """``limit`` in bytes, None for no limit but the machine's reserve. ``init`` is the process id of the sandbox's."""

    def __init__(
        self,
        directory: str,
        limit: int | None,
        init: int,
        reserve: "Reserve | None" = None,
        longest: float = _LONGEST_SECONDS,
    ) -> None:
        self._directory = directory
        self._limit = limit
        self._init = init
        self._reserve = reserve or Reserve.of(directory)
        self._used = 0
        self._free = self._free_bytes()
        self._longest = longest
        self._next_walk = 0.0
        self._latest_walk = time.monotonic() + longest

    def verdict(self) -> "Report | None":
        """Why the sandbox has to end, or None."""
        free = self._free_bytes()
        allowed = self._reserve.fair if free < self._reserve.total else None
        if self._limit is not None:
            most = self._limit + _OVERHEAD_BYTES
            allowed = most if allowed is None else min(most, allowed)
        grown = self._used + self._free - free
        begun = time.monotonic()
        if allowed is None or begun < self._next_walk or (grown <= allowed and begun < self._latest_walk):
            return None
        self._used, self._free = used_bytes(self._directory) + self._deleted_bytes(), self._free_bytes()
        ended = time.monotonic()
        self._next_walk = ended + _REST_PER_WALK * (ended - begun)
        self._latest_walk = max(self._next_walk, ended + self._longest)
        if self._used <= allowed:
            return None
        held = f"the sandbox holds {self._used // _MEBIBYTE} MB on disk"
        if self._limit is not None and self._used > self._limit:
            return {"disk_limit": f"{held}, more than its {self._limit // _MEBIBYTE} MB (storage_mb)"}
        return {"disk_scarce": f"{held}, and this machine has only {free // _MEBIBYTE} MB left"}

    def _free_bytes(self) -> int:
        status = os.statvfs(self._directory)
        return status.f_bfree * status.f_frsize

    def _deleted_bytes(self) -> int:
        """Files that have no name any more and are still open in the sandbox."""
        try:
            namespace = os.readlink(f"/proc/{self._init}/ns/pid")  # noqa: PTH115 - keeps pathlib out of the keeper
            devices = self._devices()
        except OSError:
            return 0
        found: dict[tuple[int, int], int] = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{pid}/ns/pid") != namespace:  # noqa: PTH115
                    continue
                for number in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208
                    with contextlib.suppress(OSError):
                        file = os.stat(f"/proc/{pid}/fd/{number}")  # noqa: PTH116
                        if stat.S_ISREG(file.st_mode) and not file.st_nlink and file.st_dev in devices:
                            found[file.st_dev, file.st_ino] = file.st_blocks * 512
        return sum(found.values())

    def _devices(self) -> set[int]:
        """Those of the sandbox's overlays and of the disk below them; not those of memory."""
        devices = {os.stat(self._directory).st_dev}  # noqa: PTH116
        with open(f"/proc/{self._init}/mountinfo", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            for line in file:
                before, _, after = line.partition(" - ")
                if after.startswith("overlay "):
                    major, _, minor = before.split()[2].partition(":")
                    devices.add(os.makedev(int(major), int(minor)))
        return devices
