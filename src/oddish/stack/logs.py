"""Log files of bounded size. Standard library only: the command line imports it.

Programs append to an inherited descriptor, so a file is shortened in place: its content moves to ``<name>.1`` and
the writers go on at the new end.
"""

import os
from pathlib import Path

LIMIT = 8 * 1024 * 1024


def open_log(path: Path) -> int:
    """A descriptor that appends, for a child's output. The caller closes it."""
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)


def bound(path: Path, limit: int = LIMIT) -> None:
    """Keep at most ``limit`` bytes in ``path`` and as many in the one older file beside it."""
    try:
        if path.stat().st_size <= limit:
            return
    except FileNotFoundError:
        return
    older = path.with_name(path.name + ".1")
    with path.open("rb+") as source, older.open("wb") as target:
        os.fchmod(target.fileno(), 0o600)
        source.seek(-limit, os.SEEK_END)
        target.write(source.read(limit))
        source.truncate(0)


def tail(path: Path, lines: int = 20, since: int = 0) -> str:
    """The last ``lines`` lines written after byte ``since``."""
    window = 64 * 1024
    try:
        with path.open("rb") as source:
            size = source.seek(0, os.SEEK_END)
            source.seek(max(0, size - window, since if since <= size else 0))
            text = source.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.splitlines()[-lines:])
