"""Making a backup, of a stack that runs or not."""

import asyncio
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import LiteralString

import psycopg
from psycopg import IsolationLevel

from oddish import __version__
from oddish.backup import contents, objects
from oddish.backup.contents import DUMP, FILES, LIST, Contents, Stored
from oddish.backup.secretkey import key_id, take_key
from oddish.backup.source import Say, address, served, storage_url
from oddish.doctor.store import shown
from oddish.errors import Conflict, InvalidInput, Unavailable
from oddish.stack.cluster import DATABASE, Cluster
from oddish.stack.database import schema_of
from oddish.stack.layout import Layout
from oddish.stack.lock import open_lock, try_lock
from oddish.storage.store import ArtifactStore

WORKSPACES = """
SELECT DISTINCT workspace_key FROM gateway_jobs WHERE workspace_key IS NOT NULL AND status IN ('queued', 'running')
"""
_PARTIAL = ".partial-"
_TABLE_DATA = re.compile(r"^\d+; \d+ \d+ TABLE DATA \S+ (\S+) ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Rows:
    """What a database says at the moment of its dump."""

    revision: str
    remark: str | None
    postgres: int
    tables: frozenset[str]
    tasks: int
    trials: int
    bytes: int
    named: objects.Named


def take(place: Path, where: Layout, *, with_store: bool, with_key: bool, say: Say) -> tuple[Path, Contents]:
    """Make a backup in the directory ``place``, which is made when missing; its path, and what is in it.

    It is there in full or not at all. The database comes first and in one state; the files are those that this state
    names. Raises ``InvalidInput``, ``Conflict`` and ``Unavailable``.
    """
    _refuse_inside(place, where)
    with _staging(place) as staging:
        with served(where, say) as cluster:
            say("Copying the database ...")
            rows = _dump(cluster, staging / DUMP, place)
            _verify(cluster, staging / DUMP, rows.tables)
        copied = objects.Copied()
        if with_store:
            say("Copying the files ...")
            copied = _copy_store(where, rows.named, staging, contents.backups(place), say)
        description = Contents(
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
            version=__version__,
            revision=rows.revision,
            schema_remark=rows.remark,
            postgres=rows.postgres,
            tasks=rows.tasks,
            trials=rows.trials,
            database_bytes=rows.bytes,
            dump_bytes=(staging / DUMP).stat().st_size,
            dump_sha256=contents.sha256(staging / DUMP),
            store_url=shown(storage_url(where)),
            list_sha256=contents.sha256(staging / LIST) if with_store else None,
            files=len(copied.stored),
            file_bytes=sum(entry.size for entry in copied.stored),
            missing=tuple(sorted(copied.missing)),
            damaged=tuple(sorted(copied.damaged)),
            key_included=with_key and take_key(where, staging),
            key_id=key_id(where),
        )
        description.write(staging)
        os.sync()
        return staging.rename(_free_name(place)), description


def _refuse_inside(place: Path, where: Layout) -> None:
    """Raises ``InvalidInput`` for a place that is lost together with what is backed up."""
    for kept in (where.store, where.postgres):
        if place.resolve().is_relative_to(kept.resolve()):
            raise InvalidInput(
                f"Backups cannot be kept in {place}: it lies in {kept}, which they are made of.",
                fix="Name a directory elsewhere, best on another disk.",
            )


@contextmanager
def _staging(place: Path) -> Iterator[Path]:
    """A directory in ``place`` that is gone afterwards unless it was renamed. One backup at a time."""
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = open_lock(place / ".lock")
    except OSError as error:
        raise InvalidInput(
            f"Backups cannot be kept in {place}: {error.strerror}.", fix="Name a directory that you may write to."
        ) from error
    staging = None
    try:
        if not try_lock(lock):
            raise Conflict(f"Another backup to {place} is being made.", fix="Wait until it has ended.")
        for left in place.glob(f"{_PARTIAL}*"):
            shutil.rmtree(left)
        staging = Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=place))
        yield staging
    except OSError as error:
        raise Unavailable(
            f"The backup was not made: {error}.", fix=f"Check that {place} has free space and can be written to."
        ) from error
    finally:
        if staging is not None:
            shutil.rmtree(staging, ignore_errors=True)
        os.close(lock)


def _free_name(place: Path) -> Path:
    name = f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%SZ}"
    number = 1
    path = place / name
    while path.exists():
        number += 1
        path = place / f"{name}-{number}"
    return path


def _dump(cluster: Cluster, target: Path, place: Path) -> Rows:
    """Dump the database, and read from the same state of it what the dump is about."""
    try:
        with psycopg.connect(address(cluster)) as connection:
            connection.execute("SET idle_in_transaction_session_timeout = 0")
            connection.commit()
            connection.isolation_level = IsolationLevel.REPEATABLE_READ
            snapshot = _one(connection, "SELECT pg_export_snapshot()")
            rows = _rows(connection)
            with target.open("wb") as file:
                target.chmod(0o600)
                options = ("--format=custom", f"--snapshot={snapshot}")
                cluster.run_into(file, place, "pg_dump", *cluster.connection, *options, DATABASE)
    except psycopg.Error as error:
        raise Unavailable(
            f"The database cannot be read: {str(error).strip()}", fix="'oddish doctor' says more about it."
        ) from error
    return rows


def _rows(connection: psycopg.Connection) -> Rows:
    schema = schema_of(connection)
    if schema.revision is None:
        raise InvalidInput("There is nothing to back up: the database has no schema yet.")
    tables = connection.execute("SELECT relname FROM pg_stat_user_tables WHERE schemaname = 'public'").fetchall()
    archives = connection.execute("SELECT DISTINCT archive_key FROM task_versions").fetchall()
    if ("gateway_jobs",) in tables:  # A database of an earlier release has none.
        archives += connection.execute(WORKSPACES).fetchall()
    if ("exports",) in tables:
        archives += connection.execute("SELECT object_key FROM exports").fetchall()
    prefixes = connection.execute("SELECT DISTINCT artifact_prefix FROM attempts WHERE artifact_prefix IS NOT NULL")
    return Rows(
        revision=schema.revision,
        remark=schema.remark,
        postgres=connection.info.server_version // 10_000,
        tables=frozenset(name for (name,) in tables),
        tasks=int(_one(connection, "SELECT count(*) FROM tasks")),
        trials=int(_one(connection, "SELECT count(*) FROM trials")),
        bytes=int(_one(connection, "SELECT pg_database_size(current_database())")),
        named=objects.Named(tuple(key for (key,) in archives), tuple(prefix for (prefix,) in prefixes.fetchall())),
    )


def _one(connection: psycopg.Connection, query: LiteralString) -> str:
    row = connection.execute(query).fetchone()
    assert row is not None  # noqa: S101 - an aggregate or a function has one row
    return str(row[0])


def _verify(cluster: Cluster, dump: Path, tables: frozenset[str]) -> None:
    """Read the table of contents back: every table has its data in the dump."""
    lacking = tables - set(_TABLE_DATA.findall(table_of_contents(cluster, dump)))
    if lacking:
        raise Unavailable(
            f"The backup was not made: the dump lacks the tables {', '.join(sorted(lacking))}.", fix="Try again."
        )


def table_of_contents(cluster: Cluster, dump: Path) -> str:
    """Raises ``Unavailable`` when ``dump`` cannot be read."""
    with dump.open("rb") as source:
        return cluster.run_from(source, "pg_restore", "--list")


def _copy_store(where: Layout, named: objects.Named, staging: Path, earlier: list[Path], say: Say) -> objects.Copied:
    before = next((path for path in reversed(earlier) if (path / LIST).exists()), None)
    known: dict[str, Stored] = {}
    if before is not None:
        try:
            known = {entry.key: entry for entry in contents.read_list(before)}
        except InvalidInput as error:
            say(f"No file is shared with an earlier backup: {error.message}")
    store = ArtifactStore.open(storage_url(where))
    directory = before / FILES if before is not None else None
    copied = asyncio.run(objects.collect(store, named, staging / FILES, directory, known, say))
    contents.write_list(staging, copied.stored)
    return copied
