"""Regular files in directories that others wrote: no symbolic link is followed. Standard library only."""

import os
import stat
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_below(directory: Path, relative: str) -> int:
    """A descriptor of a regular file below ``directory`` that is reached without any symbolic link. Raises OSError."""
    *folders, name = relative.split("/")
    if "\0" in relative or not all(part not in {"", ".", ".."} for part in (*folders, name)):
        raise FileNotFoundError(relative)
    at = os.open(directory, _FOLDER)
    try:
        for folder in folders:
            inner = os.open(folder, _FOLDER, dir_fd=at)
            os.close(at)
            at = inner
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
    finally:
        os.close(at)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise PermissionError(f"{relative} is not a regular file")
    return descriptor
