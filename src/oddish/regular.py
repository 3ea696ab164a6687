"""Regular files in directories that others wrote: no symbolic link is followed. Standard library only."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_below(directory: Path, relative: str) -> int:
    """A descriptor of a regular file below ``directory`` that is reached without any symbolic link. Raises OSError."""
    *folders, name = _parts(relative)
    at = _enter(directory, folders)
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
    finally:
        os.close(at)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise PermissionError(f"{relative} is not a regular file")
    return descriptor


def folders_below(directory: Path, relative: str) -> list[str]:
    """The names of the directories in one that is reached without any symbolic link, links left out. Raises OSError."""
    at = _enter(directory, _parts(relative))
    try:
        with os.scandir(at) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    finally:
        os.close(at)


def _parts(relative: str) -> list[str]:
    parts = relative.split("/")
    if "\0" in relative or not all(part not in {"", ".", ".."} for part in parts):
        raise FileNotFoundError(relative)
    return parts


def _enter(directory: Path, folders: Iterable[str]) -> int:
    at = os.open(directory, _FOLDER)
    for folder in folders:
        try:
            inner = os.open(folder, _FOLDER, dir_fd=at)
        finally:
            os.close(at)
        at = inner
    return at
