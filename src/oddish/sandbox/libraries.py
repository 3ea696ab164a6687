"""Copies of the programs and libraries that this process runs on, for sandboxes to run on instead of the originals.

Every process that maps a file takes turns at one lock in the kernel when it starts and ends. A sandbox that starts
processes without end would hold up every program of the machine that maps the same C library.
"""

import asyncio
import os
import shutil
import stat
from contextlib import AbstractAsyncContextManager
from functools import cache
from hashlib import sha256
from pathlib import Path

from oddish.cache import DirectoryCache, Held
from oddish.home import private_directory

DIRECTORY = "libraries"
_MOST_BYTES = 512 * 1024**2


def hold(scratch: Path, shown: tuple[str, ...]) -> AbstractAsyncContextManager[Held]:
    """A tree below ``scratch`` with copies of the files in the directories ``shown``, each at its own path."""
    files = tuple(file for file in in_use(shown) if file.is_file())

    async def make(directory: Path) -> None:
        for file in files:
            await asyncio.to_thread(_copy, file, directory)

    scratch.mkdir(parents=True, exist_ok=True)
    return DirectoryCache(private_directory(scratch / DIRECTORY), _MOST_BYTES).hold(_name(files), make)


def copies(directory: Path) -> list[Path]:
    """The copied files of a held tree, relative to it."""
    return sorted(path.relative_to(directory) for path in directory.rglob("*") if path.is_file())


@cache
def in_use(shown: tuple[str, ...]) -> tuple[Path, ...]:
    """Programs and libraries below the directories ``shown`` that this process has mapped, and the shells."""
    mapped = {line.split(maxsplit=5)[5] for line in _mappings() if line.split(maxsplit=2)[1][2] == "x"}
    wanted = {os.path.realpath(path) for path in (*mapped, "/bin/sh", "/bin/bash") if path.startswith("/")}
    return tuple(
        Path(path) for path in sorted(wanted) if any(Path(path).is_relative_to(directory) for directory in shown)
    )


def _mappings() -> list[str]:
    lines = Path("/proc/self/maps").read_text(errors="surrogateescape").splitlines()
    return [line for line in lines if len(line.split(maxsplit=5)) == 6]


def _name(files: tuple[Path, ...]) -> str:
    facts = [(str(file), status.st_size, status.st_mtime_ns) for file in files for status in [file.stat()]]
    return sha256(repr(facts).encode()).hexdigest()[:40]


def _copy(file: Path, directory: Path) -> None:
    for parent in reversed(file.parents[:-1]):
        copy = directory / parent.relative_to("/")
        if not copy.exists():
            copy.mkdir()
            copy_attributes(parent, copy)
    copy = directory / file.relative_to("/")
    shutil.copyfile(file, copy)
    copy_attributes(file, copy)
    os.utime(copy, ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))


def copy_attributes(source: Path, copy: Path) -> None:
    """Owner and permissions, where this process may give the owner."""
    status = source.stat()
    if os.geteuid() == 0:
        os.chown(copy, status.st_uid, status.st_gid)
    copy.chmod(stat.S_IMODE(status.st_mode))
