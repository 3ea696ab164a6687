"""Putting a backup in the place of what a local stack has. What was there is kept."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg

from oddish.backup import contents, objects
from oddish.backup.contents import DUMP, FILES, LIST, Contents
from oddish.backup.secretkey import check_key, key_id, put_key
from oddish.backup.source import Say, exclusive, refuse_foreign, storage_url
from oddish.backup.taking import table_of_contents
from oddish.db.compatibility import Schema
from oddish.db.revision import HEAD
from oddish.db.url import plain
from oddish.errors import Conflict, InvalidInput
from oddish.stack import account, binaries, database, upgrade
from oddish.stack.cluster import Cluster
from oddish.stack.layout import Layout
from oddish.stack.migration import migrate
from oddish.stack.postgres import EmbeddedPostgres
from oddish.stack.service import Context
from oddish.storage.store import ArtifactStore

_IN_USE = "SELECT EXISTS (SELECT FROM tasks) OR EXISTS (SELECT FROM experiments) OR EXISTS (SELECT FROM secrets)"


@dataclass(frozen=True, slots=True)
class Restored:
    backup: Path
    contents: Contents
    kept: tuple[Path, ...]
    """Where what was there before is now."""
    damaged: tuple[str, ...]
    """Keys of files that could not be restored because the backup's are not what was stored."""
    key_restored: bool
    secrets_readable: bool
    """Whether the secret key here is the one that the stored secrets were encrypted with."""


def restore(place: Path, where: Layout, *, replace: bool, say: Say) -> Restored:
    """Restore the backup at ``place``, or the newest of those in it. No stack of this home may run.

    The files first, then the database, all of it or nothing. Raises ``Conflict`` when there is a database in use and it
    is not to be replaced, ``InvalidInput`` for what is no backup, is damaged, or is of a newer release.
    """
    refuse_foreign(None)
    backup = contents.find(place)
    described = contents.read(backup)
    _check(backup, described)
    files = contents.read_list(backup) if described.list_sha256 is not None else None
    with exclusive(where):
        server = EmbeddedPostgres(where.postgres, log=where.log("postgres"))
        if not replace and _in_use(server, where):
            raise Conflict(
                f"The database in {where.home} is in use: it has tasks, experiments or secrets.",
                fix="Add --replace to put the backup in its place; what is there now is kept beside it.",
            )
        upgrade.require_room(where.home, described.database_bytes, "Restoring the database")
        damaged: Sequence[str] = ()
        if files is not None:
            say("Restoring the files ...")
            store = ArtifactStore.open(storage_url(where))
            damaged = asyncio.run(objects.put_back(store, backup / FILES, files, say))
        say("Restoring the database ...")
        kept = server.restore(backup / DUMP, lambda url: _prepare(where, url))
        key_restored, old_key = put_key(backup, where) if described.key_included else (False, ())
        return Restored(
            backup=backup,
            contents=described,
            kept=(*kept, *old_key),
            damaged=tuple(damaged),
            key_restored=key_restored,
            secrets_readable=described.key_id in (None, key_id(where)),
        )


def _check(backup: Path, described: Contents) -> None:
    """That it is whole, and of a release that this one can follow."""
    schema = Schema(described.revision, described.schema_remark)
    if schema.fit() == "beyond":
        raise InvalidInput(
            f"{backup} was made by oddish {described.version}, whose database is at revision {described.revision}; "
            f"this one knows up to {HEAD}.",
            fix=f"Install oddish {described.version} or newer, then restore it.",
        )
    programs = binaries.installed()[0]
    if programs.major < described.postgres:
        raise InvalidInput(
            f"{backup} is of PostgreSQL {described.postgres}; the programs here are of version {programs.major}.",
            fix=f"Install PostgreSQL {described.postgres} or newer and set {binaries.SETTING} to its bin directory.",
        )
    sums = {DUMP: described.dump_sha256, LIST: described.list_sha256}
    for name, expected in sums.items():
        if expected is None:
            continue
        if not (backup / name).is_file() or contents.sha256(backup / name) != expected:
            raise InvalidInput(
                f"{backup / name} is not what was backed up: it was changed or cut off.",
                fix="Restore another backup, or another copy of this one.",
            )
    if described.key_included:
        check_key(backup, described.key_id)
    table_of_contents(Cluster(backup, backup, programs, account.current()), backup / DUMP)


def _in_use(server: EmbeddedPostgres, where: Layout) -> bool:
    if not any(where.postgres.glob("[0-9]*/PG_VERSION")):
        return False
    with server:
        url = plain(server.url())
        with psycopg.connect(url, autocommit=True) as connection:
            if database.schema(server.url()).revision is None:
                return False
            return connection.execute(_IN_USE).fetchone() == (True,)


def _prepare(where: Layout, url: str) -> None:
    migrate(Context(where, url, token=""))
    database.analyze(url)
