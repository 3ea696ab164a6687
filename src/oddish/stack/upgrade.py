"""Replacing a cluster by one that is filled from a dump: for the next PostgreSQL major version, and from a backup.

The new one is filled in a directory of its own, which one rename makes the next database; what is left to do then is
done by ``settle``, at the next start if need be. The old one is kept.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from oddish.errors import Unavailable
from oddish.removal import used_bytes
from oddish.room import MIB, free_bytes
from oddish.stack.cluster import DATABASE, Cluster
from oddish.stack.postmaster import Postmaster

_BACKUP = re.compile(r"\d+\.backup\d+")
_READY, _STAGED = ".ready-", ".upgrade-"
_START_SECONDS, _STOP_SECONDS = 300.0, 60.0
_NEW_CLUSTER_BYTES = 128 * MIB
"""What a cluster takes before anything is in it, its log of changes included."""
_DUMP_SHARE = 0.25
"""A compressed dump, next to the database it is of."""


def upgrade(old: Cluster, new: Cluster, log: Path, lock: int) -> None:
    """Make a database of ``new``'s version from ``old``, ready to ``settle``. Nothing changes unless all succeeded."""
    database = used_bytes(str(old.data / "base"))
    what = f"Moving the database from PostgreSQL {old.binaries.major} to {new.binaries.major}"
    require_room(new.data.parent, int(database * (1 + _DUMP_SHARE)), what)
    with _work_directory(new) as work:
        dump = work / "database.dump"
        old.clear()
        with _serving(old, log, lock), dump.open("wb") as target:
            old.run_into(target, new.data.parent, "pg_dump", *old.connection, "--format=custom", DATABASE)
        _fill(new, dump, work, log, lock, lambda: None)


def restore(new: Cluster, dump: Path, log: Path, lock: int, prepare: Callable[[], None]) -> None:
    """Make a database of ``dump``, ready to ``settle``. ``prepare`` is called when it is filled and can be reached."""
    with _work_directory(new) as work:
        _fill(new, dump, work, log, lock, prepare)


def settle(directory: Path) -> list[Path]:
    """Put a database that is ready in the place of the one before; the directories that keep what was there."""
    kept = []
    for ready in directory.glob(f"{_READY}*"):
        kept += [set_aside(path) for path in directory.iterdir() if path.name.isdecimal()]
        ready.rename(directory / ready.name.removeprefix(_READY))
        _flush(directory)
    return kept


def sweep(directory: Path) -> None:
    """Drop what an interrupted creation or replacement left."""
    for pattern in (".new-*", f"{_STAGED}*"):
        for path in directory.glob(pattern):
            shutil.rmtree(path)


def staged(directory: Path) -> list[Path]:
    """Data directories that servers of an interrupted replacement may use."""
    return list(directory.glob(f"{_STAGED}*/data"))


def set_aside(data: Path) -> Path:
    """Rename a data directory that is no longer used, so that nothing takes it for a current one."""
    number = 1
    while (backup := data.with_name(f"{data.name}.backup{number}")).exists():
        number += 1
    return data.rename(backup)


def kept(directory: Path) -> list[Path]:
    """The data directories that were set aside."""
    return sorted(path for path in directory.glob("*.backup*") if _BACKUP.fullmatch(path.name))


def require_room(directory: Path, database_bytes: int, what: str) -> None:
    """Raises ``Unavailable`` when a new cluster with ``database_bytes`` does not fit beside the others."""
    needed = database_bytes + _NEW_CLUSTER_BYTES
    free = free_bytes(directory)
    if free < needed:
        raise Unavailable(
            f"{what} takes {needed // MIB} MiB, and {free // MIB} MiB are free in {directory}. Nothing was changed.",
            fix="Free some space on that disk, then try again.",
        )


def _fill(new: Cluster, dump: Path, work: Path, log: Path, lock: int, prepare: Callable[[], None]) -> None:
    filled = replace(new, data=work / "data")
    filled.create()
    filled.clear()
    with _serving(filled, log, lock):
        options = ("--exit-on-error", "--single-transaction", f"--dbname={DATABASE}")
        with dump.open("rb") as source:
            filled.run_from(source, "pg_restore", *filled.connection, *options)
        prepare()
    filled.data.rename(new.data.with_name(f"{_READY}{new.data.name}"))
    _flush(new.data.parent)


@contextmanager
def _work_directory(new: Cluster) -> Iterator[Path]:
    work = Path(tempfile.mkdtemp(prefix=_STAGED, dir=new.data.parent))
    try:
        new.account.own(work)
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


@contextmanager
def _serving(cluster: Cluster, log: Path, lock: int) -> Iterator[None]:
    postmaster = Postmaster(cluster, log=log, settings={}, inherited=(lock,))
    try:
        postmaster.wait_ready(_START_SECONDS)
        yield
    finally:
        postmaster.stop(_STOP_SECONDS)


def _flush(directory: Path) -> None:
    """Make renames in ``directory`` outlast a power failure."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
