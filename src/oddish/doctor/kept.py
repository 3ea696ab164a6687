"""What the local stack keeps on disk: its database, its files, and databases that were replaced."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oddish.doctor.disk import existing
from oddish.doctor.finding import Finding, ok, warning
from oddish.doctor.words import listed, size
from oddish.home import home
from oddish.room import free_bytes
from oddish.stack import upgrade
from oddish.stack.layout import Layout

KEPT = "What is kept"
_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Measured:
    """A tree of files; ``complete`` is False when there was no time to see all of it."""

    path: Path
    bytes: int
    files: int
    complete: bool = True

    def __str__(self) -> str:
        return size(self.bytes) if self.complete else f"more than {size(self.bytes)}"


def look() -> Iterator[Finding]:
    where = Layout(home())
    deadline = time.monotonic() + _SECONDS
    databases = [path for path in where.postgres.glob("[0-9]*") if path.name.isdecimal()]
    current = [measure(path, deadline) for path in databases]
    replaced = [measure(path, deadline) for path in upgrade.kept(where.postgres)]
    files = measure(where.store, deadline)
    yield judge(current, files, free=free_bytes(existing(where.home)), directory=where.home)
    if replaced:
        yield judge_replaced(replaced)


def measure(directory: Path, deadline: float) -> Measured:
    """``deadline`` by the monotonic clock."""
    total = files = 0
    for parent, _, names in os.walk(directory):
        if time.monotonic() > deadline:
            return Measured(directory, total, files, complete=False)
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_blocks * 512  # noqa: PTH118 - a million files
            except OSError:
                continue
            files += 1
    return Measured(directory, total, files)


def judge(databases: list[Measured], files: Measured, *, free: int, directory: Path) -> Finding:
    """``free`` in bytes, on the disk of ``directory``."""
    if not databases:
        return ok(KEPT, "nothing yet")
    shown = f"a database of {' and '.join(map(str, databases))}, {files.files} files of {files}, in {directory}"
    if sum(entry.bytes for entry in databases) + files.bytes > free:
        return warning(
            KEPT,
            f"There is {shown}, and less than that is free.",
            f"Run 'oddish down', move {directory} to a larger disk, and set ODDISH_HOME to its new place.",
        )
    return ok(KEPT, shown)


def judge_replaced(replaced: list[Measured]) -> Finding:
    each = [f"{entry.path} ({entry})" for entry in replaced]
    return ok("Replaced databases", f"{listed(each)}: kept, and not needed once the present one is as it should be")
