"""A deployment moves on to another schema while it works."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

import psycopg
import pytest
from sqlalchemy.exc import OperationalError

from oddish.db import migration
from oddish.db.__main__ import main
from oddish.db.compatibility import UnknownSchema
from oddish.db.revision import HEAD
from oddish.db.url import plain
from oddish.stack.database import schema
from support.migrations import NEXT, release
from support.waiting import eventually

EXPANDS = "ALTER TABLE jobs ADD COLUMN colour text"
CONTRACTS = "ALTER TABLE jobs DROP COLUMN memory_mb"


class Postgres(Protocol):
    """What is needed of the server behind the databases of the tests."""

    def create(self, database: str) -> str: ...

    def drop(self, database: str) -> None: ...


@pytest.fixture
def database(database_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(plain(database_url)) as connection:
        yield connection


def test_this_release_works_with_a_schema_that_only_grew(database_url: str, tmp_path: Path) -> None:
    assert migration.upgrade(database_url, migrations=release(tmp_path, EXPANDS, contracts=False)) == "same"
    found = schema(database_url)
    assert (found.revision, found.fit()) == (NEXT, "ahead")
    found.check()


def test_this_release_refuses_a_schema_that_lost_something(database_url: str, tmp_path: Path) -> None:
    migration.upgrade(database_url, migrations=release(tmp_path, CONTRACTS, contracts=True))
    found = schema(database_url)
    assert (found.fit(), found.oldest_code) == ("beyond", NEXT)
    with pytest.raises(UnknownSchema, match=NEXT):
        found.check()


def test_an_older_release_leaves_a_newer_schema_as_it_is(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ODDISH_DATABASE_URL", database_url)
    migration.upgrade(database_url, migrations=release(tmp_path, EXPANDS, contracts=False))
    assert main(["upgrade"]) == 0
    assert "nothing was changed" in capsys.readouterr().out
    assert schema(database_url).revision == NEXT


def test_an_older_release_says_why_it_does_not_upgrade_what_it_cannot_use(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ODDISH_DATABASE_URL", database_url)
    migration.upgrade(database_url, migrations=release(tmp_path, CONTRACTS, contracts=True))
    assert main(["upgrade"]) == 1
    assert NEXT in capsys.readouterr().err


@pytest.mark.parametrize("contracts", [False, True])
def test_it_can_be_asked_whether_an_upgrade_shuts_out_those_who_work(
    database_url: str, tmp_path: Path, contracts: bool
) -> None:
    migrations = release(tmp_path, CONTRACTS if contracts else EXPANDS, contracts=contracts)
    assert migration.shuts_out(database_url, migrations=migrations) is contracts
    assert schema(database_url).revision == HEAD


def test_there_is_nothing_to_do_for_a_database_that_is_up_to_date(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ODDISH_DATABASE_URL", database_url)
    assert main(["check"]) == 0
    assert capsys.readouterr().out == f"There is nothing to do: the database is at revision {HEAD}.\n"


@pytest.mark.parametrize(("contracts", "code"), [(False, 0), (True, 1)])
def test_a_newer_schema_needs_nothing_or_another_release(
    database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    contracts: bool,
    code: int,
) -> None:
    statement = CONTRACTS if contracts else EXPANDS
    migration.upgrade(database_url, migrations=release(tmp_path, statement, contracts=contracts))
    monkeypatch.setenv("ODDISH_DATABASE_URL", database_url)
    assert main(["check"]) == code
    said = capsys.readouterr()
    assert ("a newer release" in said.err) is contracts
    assert ("nothing to do" in said.out) is not contracts


def test_a_database_without_a_schema_is_not_said_to_have_servers_and_workers(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ODDISH_DATABASE_URL", postgres.create("never_migrated"))
    assert main(["check"]) == 0
    assert "no schema yet" in capsys.readouterr().out
    postgres.drop("never_migrated")


def test_two_processes_that_migrate_at_once_take_turns(postgres: Postgres) -> None:
    url = postgres.create("migrated_by_two")
    with ThreadPoolExecutor() as pool:
        assert list(pool.map(migration.upgrade, [url, url])) == ["same", "same"]
    assert (schema(url).revision, schema(url).fit("0000")) == (HEAD, "beyond")
    postgres.drop("migrated_by_two")


def test_who_wants_a_table_that_waits_for_a_migration_waits_a_few_seconds(
    database_url: str, database: psycopg.Connection, tmp_path: Path
) -> None:
    migrations = release(tmp_path, EXPANDS, contracts=False)
    database.execute("SELECT FROM jobs")
    with ThreadPoolExecutor() as pool:
        migrating = pool.submit(migration.upgrade, database_url, migrations=migrations, pause_seconds=0.1)
        with psycopg.connect(plain(database_url), autocommit=True) as other:
            wait_until_somebody_waits(other)
            started = time.monotonic()
            other.execute("SELECT FROM jobs")
            waited = time.monotonic() - started
        assert not migrating.done()
        database.rollback()
        assert migrating.result(60) == "same"
    assert waited < migration.LOCK_SECONDS + 2
    assert schema(database_url).revision == NEXT


def test_a_table_that_stays_locked_leaves_the_schema_as_it_was(
    database_url: str, database: psycopg.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migration, "LOCK_SECONDS", 1)
    migrations = release(tmp_path, EXPANDS, contracts=False)
    database.execute("SELECT FROM jobs")
    with pytest.raises(OperationalError, match="lock timeout"):
        migration.upgrade(database_url, migrations=migrations, patience_seconds=0)
    database.rollback()
    assert schema(database_url).revision == HEAD


def wait_until_somebody_waits(connection: psycopg.Connection) -> None:
    waits = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = 'jobs'::regclass)"
    eventually(lambda: connection.execute(waits).fetchone() == (True,), 30)
