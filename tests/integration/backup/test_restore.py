import asyncio
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from oddish.backup import contents
from oddish.backup.restoring import Restored, restore
from oddish.db import migration
from oddish.db.revision import HEAD
from oddish.db.url import plain
from oddish.errors import Conflict, InvalidInput, NotFound, Unavailable
from oddish.stack import database
from oddish.stack.layout import Layout
from oddish.stack.lock import open_lock, sign, try_lock
from oddish.stack.postgres import EmbeddedPostgres
from oddish.storage.manifest import read_manifest
from oddish.storage.store import ArtifactStore
from support.deadly_steps import chosen, die_at
from support.migrations import release

from .conftest import ARCHIVE, PREFIX, running, trials
from .test_backup import backup

pytestmark = pytest.mark.long

RESTORE = """
import pathlib
from oddish.backup.restoring import restore
from oddish.stack.layout import layout
restore(pathlib.Path(sys.argv[1]), layout(), replace=True, say=lambda line: None)
"""
type MakeBackup = Callable[..., Path]

STEPS = 10
"""Its contents, initdb, its statement and pg_restore; the start and stop of one server; four renames."""


def bring_back(place: Path, where: Layout, *, replace: bool = False) -> Restored:
    return restore(place, where, replace=replace, say=lambda line: None)


def altered(backup: Path, **members: Any) -> Path:
    description = backup / "backup.json"
    description.write_text(json.dumps(json.loads(description.read_text()) | members))
    return backup


def names(where: Layout) -> list[tuple]:
    with running(where) as connection:
        return connection.execute("SELECT name FROM tasks").fetchall()


def test_everything_comes_back_in_an_empty_home(
    where: Layout, elsewhere: Layout, made: MakeBackup, tmp_path: Path
) -> None:
    backup = made(with_store=True, with_key=True)
    done = bring_back(tmp_path / "backups", elsewhere)
    assert (done.backup, done.kept, done.damaged) == (backup, (), ())
    assert done.key_restored
    assert done.secrets_readable
    assert trials(elsewhere) == trials(where)
    store = ArtifactStore.open(elsewhere.store.as_uri())
    assert asyncio.run(store.get(ARCHIVE, max_bytes=100)) == b"archive"
    manifest = asyncio.run(read_manifest(store, PREFIX))
    assert [entry.path for entry in manifest.files] == ["agent/log #1.txt", "result.json"]
    assert (elsewhere.home / "secret.key").stat().st_mode & 0o777 == 0o600


def test_the_restored_database_is_served_as_if_it_had_always_been_there(
    elsewhere: Layout, made: MakeBackup, tmp_path: Path
) -> None:
    made()
    bring_back(tmp_path / "backups", elsewhere)
    with EmbeddedPostgres(elsewhere.postgres, durable=False) as server:
        assert database.schema(server.url()).fit() == "same"
        assert server.notes == []
        with psycopg.connect(plain(server.url())) as connection:
            assert connection.execute("SELECT reltuples FROM pg_class WHERE relname = 'trials'").fetchall() == [(1.0,)]


def test_a_database_in_use_is_replaced_only_on_request_and_kept(
    where: Layout, made: MakeBackup, tmp_path: Path
) -> None:
    backup = made()
    with running(where) as connection:
        connection.execute("UPDATE tasks SET name = 'newer'")
    with pytest.raises(Conflict, match=r"is in use: it has tasks.*--replace"):
        bring_back(backup, where)
    assert names(where) == [("newer",)]
    done = bring_back(backup, where, replace=True)
    assert names(where) == [("task",)]
    [kept] = done.kept
    (where.postgres / kept.name.partition(".")[0]).rename(tmp_path / "restored")
    kept.rename(where.postgres / kept.name.partition(".")[0])
    assert names(where) == [("newer",)]


def test_a_backup_of_a_newer_release_is_refused_by_name(elsewhere: Layout, made: MakeBackup) -> None:
    backup = made()
    altered(backup, revision="9999", schema_remark=None, version="7.0.0")
    with pytest.raises(InvalidInput, match=r"oddish 7\.0\.0, whose database is at revision 9999.*knows up to " + HEAD):
        bring_back(backup, elsewhere)
    assert not elsewhere.postgres.exists()


def test_a_backup_of_an_older_release_is_brought_up_to_date(
    elsewhere: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = Layout(tmp_path / "older")
    older.create()
    migrations = release(tmp_path, "SELECT 1", contracts=False)
    for path in (migrations / "versions").glob("*.py"):
        if path.name > "0002":
            path.unlink()
    with EmbeddedPostgres(older.postgres, durable=False) as server:
        migration.upgrade(server.url(), migrations=migrations)
        assert database.schema(server.url()).fit() == "behind"
    monkeypatch.setenv("ODDISH_HOME", str(older.home))
    made, described = backup(tmp_path / "backups", older)
    assert described.revision < HEAD
    bring_back(made, elsewhere)
    with EmbeddedPostgres(elsewhere.postgres, durable=False) as server:
        assert database.schema(server.url()).revision == HEAD


def test_a_backup_of_a_newer_postgresql_is_refused_with_the_fix(elsewhere: Layout, made: MakeBackup) -> None:
    backup = made()
    with pytest.raises(InvalidInput, match=r"is of PostgreSQL 99;.*ODDISH_POSTGRES_BIN"):
        bring_back(altered(backup, postgres=99), elsewhere)


def test_a_backup_that_was_cut_off_is_refused(elsewhere: Layout, made: MakeBackup) -> None:
    backup = made()
    dump = backup / "database.dump"
    dump.write_bytes(dump.read_bytes()[:-100])
    with pytest.raises(InvalidInput, match=r"database\.dump is not what was backed up"):
        bring_back(backup, elsewhere)


def test_a_dump_that_postgresql_cannot_read_changes_nothing(where: Layout, made: MakeBackup) -> None:
    backup = made()
    (backup / "database.dump").write_bytes(b"PGDMP and nothing else")
    with pytest.raises(Unavailable, match="pg_restore failed"):
        bring_back(altered(backup, dump_sha256=contents.sha256(backup / "database.dump")), where, replace=True)
    assert names(where) == [("task",)]


def test_a_damaged_file_is_left_out_and_named(elsewhere: Layout, made: MakeBackup) -> None:
    backup = made(with_store=True)
    (backup / "store" / ARCHIVE).write_bytes(b"ARCHIVE")
    assert bring_back(backup, elsewhere).damaged == (ARCHIVE,)
    assert not (elsewhere.store / ARCHIVE).exists()
    assert (elsewhere.store / PREFIX / "result.json").exists()


def test_a_list_of_files_cannot_reach_out_of_the_backup(elsewhere: Layout, made: MakeBackup) -> None:
    backup = made(with_store=True)
    (backup / "store.jsonl").write_text(json.dumps({"key": "../backup.json", "size": 1, "sha256": "0"}) + "\n")
    with pytest.raises(InvalidInput, match=r'has a "\." or "\.\." segment'):
        bring_back(altered(backup, list_sha256=contents.sha256(backup / "store.jsonl")), elsewhere)


@pytest.mark.parametrize("linked", ["tasks", ARCHIVE])
def test_what_lies_behind_a_link_in_a_backup_is_left_out(
    elsewhere: Layout, made: MakeBackup, tmp_path: Path, linked: str
) -> None:
    backup = made(with_store=True)
    path = backup / "store" / linked
    path.rename(tmp_path / "outside")
    path.symlink_to(tmp_path / "outside")
    assert bring_back(backup, elsewhere).damaged == (ARCHIVE,)
    assert not (elsewhere.store / ARCHIVE).exists()
    assert (elsewhere.store / PREFIX / "result.json").exists()


def test_a_file_whose_name_cannot_be_printed_comes_back(elsewhere: Layout, made: MakeBackup) -> None:
    key = f"{PREFIX}/no\u00a0break.txt"
    backup = made(with_store=True)
    (backup / "store" / key).write_bytes(b"it is here")
    entry = contents.Stored(key, 10, contents.sha256(backup / "store" / key))
    contents.write_list(backup, [entry])
    altered(backup, list_sha256=contents.sha256(backup / "store.jsonl"))
    assert bring_back(backup, elsewhere).damaged == ()
    assert (elsewhere.store / key).read_bytes() == b"it is here"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "Invalid JSON"),
        (b"\xff", "Invalid JSON"),
        (b"[]", "object"),
        (b'{"key": "k", "size": 1}', "sha256: Field required"),
        (b'{"key": "k", "size": "1", "sha256": "0"}', "size: Input should be a valid integer"),
        (b'{"key": "/k", "size": 1, "sha256": "0"}', "has an empty segment"),
    ],
)
def test_a_line_that_names_no_file_is_refused_before_anything_is_restored(
    elsewhere: Layout, made: MakeBackup, line: bytes, reason: str
) -> None:
    backup = made(with_store=True)
    files = backup / "store.jsonl"
    files.write_bytes(files.read_bytes() + line + b"\n")
    with pytest.raises(InvalidInput, match=rf"store\.jsonl, line 7, names no file of a backup: .*{reason}"):
        bring_back(altered(backup, list_sha256=contents.sha256(files)), elsewhere)
    assert not elsewhere.store.exists() or list(elsewhere.store.iterdir()) == []
    assert not elsewhere.postgres.exists()


def test_without_the_secret_key_it_says_that_secrets_cannot_be_read(elsewhere: Layout, made: MakeBackup) -> None:
    backup = made()
    assert not bring_back(backup, elsewhere).secrets_readable


def test_another_secret_key_is_kept_beside_the_restored_one(where: Layout, made: MakeBackup) -> None:
    backup = made(with_key=True)
    other = b"x" * 44
    (where.home / "secret.key").write_bytes(other)
    done = bring_back(backup, where, replace=True)
    assert [path.read_bytes() for path in done.kept if path.name.startswith("secret.key")] == [other]
    assert (where.home / "secret.key").read_bytes() == (backup / "secret.key").read_bytes()


@pytest.mark.parametrize("content", [None, "garbage", "é"])
def test_a_backup_whose_secret_key_is_lost_or_damaged_changes_nothing(
    where: Layout, made: MakeBackup, content: str | None
) -> None:
    backup = made(with_key=True)
    (backup / "secret.key").unlink()
    if content is not None:
        (backup / "secret.key").write_text(content)
    before = (where.home / "secret.key").read_bytes()
    with pytest.raises(InvalidInput, match="is not the key"):
        bring_back(backup, where, replace=True)
    assert (where.home / "secret.key").read_bytes() == before
    assert not list(where.postgres.glob("*.backup*"))


def test_a_stack_that_runs_is_not_pulled_from_under(where: Layout, made: MakeBackup) -> None:
    backup = made()
    lock = open_lock(where.lock)
    try:
        assert try_lock(lock)
        sign(lock)
        with pytest.raises(Unavailable, match=r"in use by process \d+.*oddish down"):
            bring_back(backup, where, replace=True)
    finally:
        os.close(lock)


@pytest.mark.parametrize("content", [None, "{", "[" * 100_000, '{"format": 2}', '{"format": 1}'])
def test_what_is_no_backup_is_refused(elsewhere: Layout, tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "backup.json").write_text(content)
    with pytest.raises((InvalidInput, NotFound), match=r"no backup|There is no backup|format that this oddish"):
        bring_back(tmp_path, elsewhere)


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("postgres", "18"),
        ("postgres", True),
        ("revision", 5),
        ("schema_remark", 5),
        ("dump_sha256", None),
        ("list_sha256", 1),
        ("database_bytes", "many"),
        ("missing", "ab"),
        ("damaged", [1]),
        ("key_included", "no"),
        ("key_id", 1),
        ("version", "\ud800"),
    ],
)
def test_a_member_of_the_wrong_kind_is_refused_by_name(
    elsewhere: Layout, made: MakeBackup, member: str, value: object
) -> None:
    backup = made()
    (backup / "database.dump").unlink()
    with pytest.raises(InvalidInput, match=rf"backup\.json describes no backup: {member}|backup\.json cannot be read"):
        bring_back(altered(backup, **{member: value}), elsewhere)
    assert not elsewhere.postgres.exists()


def test_a_description_without_a_sum_is_refused(elsewhere: Layout, made: MakeBackup) -> None:
    backup = made()
    document = json.loads((backup / "backup.json").read_text())
    del document["dump_sha256"]
    (backup / "backup.json").write_text(json.dumps(document))
    with pytest.raises(InvalidInput, match=r"backup\.json describes no backup: dump_sha256: Field required"):
        bring_back(backup, elsewhere)


@pytest.mark.parametrize("step", chosen(range(STEPS)))
def test_a_kill_at_any_step_leaves_the_old_database_or_the_new_one(where: Layout, made: MakeBackup, step: int) -> None:
    backup = made()
    with running(where) as connection:
        connection.execute("UPDATE tasks SET name = 'newer'")
    assert die_at(step, RESTORE, backup) == -signal.SIGKILL
    assert names(where) == [("task" if step >= STEPS - 2 else "newer",)]
    assert {path.name for path in where.postgres.iterdir() if path.name.startswith(".")} == set()


def test_these_are_all_steps(made: MakeBackup) -> None:
    backup = made()
    assert die_at(STEPS, RESTORE, backup) == 0
