"""The tables that the code sees are the tables that the migrations make."""

from typing import Protocol

import pytest
import sqlalchemy
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import NullPool, create_engine, inspect, text

from oddish.db import migration
from oddish.db.__main__ import main
from oddish.db.revision import HEAD
from oddish.db.tables import metadata


class Postgres(Protocol):
    """What is needed of the server behind the databases of the tests."""

    def create(self, database: str) -> str: ...

    def drop(self, database: str) -> None: ...


@pytest.fixture
def inspector(database_url: str):
    engine = create_engine(database_url)
    with engine.connect() as connection:
        yield inspect(connection)
    engine.dispose()


def test_the_same_tables(inspector: sqlalchemy.Inspector) -> None:
    assert set(inspector.get_table_names()) == {*metadata.tables, "alembic_version"}


@pytest.mark.parametrize("name", sorted(metadata.tables))
def test_the_same_columns(inspector: sqlalchemy.Inspector, name: str) -> None:
    dialect = inspector.bind.dialect
    migrated = {
        column["name"]: (column["type"].compile(dialect), column["nullable"], column["default"] is not None)
        for column in inspector.get_columns(name)
    }
    declared = {
        column.name: (column.type.compile(dialect), bool(column.nullable), column.server_default is not None)
        for column in metadata.tables[name].columns
        if column.identity is None
    }
    identities = {column.name for column in metadata.tables[name].columns if column.identity is not None}
    assert {key: value for key, value in migrated.items() if key not in identities} == declared


def test_the_expected_revision_is_the_only_head() -> None:
    config = Config()
    config.set_main_option("script_location", str(migration.MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_heads() == [HEAD]


def test_upgrading_twice_changes_nothing(database_url: str) -> None:
    migration.upgrade(database_url)
    engine = create_engine(database_url)
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT version_num FROM alembic_version")) == HEAD
    engine.dispose()


def test_the_command_says_what_it_did_and_how_it_is_used(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ODDISH_DATABASE_URL", database_url)
    assert main(["upgrade"]) == 0
    assert capsys.readouterr().out == f"The database is at revision {HEAD}.\n"
    assert main(["--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: ")
    assert main([]) == 2
    assert capsys.readouterr().err.startswith("usage: ")


def test_rows_of_the_first_revision_survive_the_later_ones(postgres: Postgres) -> None:
    url = postgres.create("of_the_first_revision")
    engine = create_engine(url, poolclass=NullPool)
    config = Config()
    config.set_main_option("script_location", str(migration.MIGRATIONS))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        connection.execute(text("INSERT INTO organisations (id, name) VALUES ('default', 'Default')"))
        connection.execute(text("INSERT INTO users (id, org_id, name, role) VALUES ('a', 'default', 'a', 'admin')"))
    migration.upgrade(url)
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT version_num FROM alembic_version")) == HEAD
        assert connection.scalar(text("SELECT count(*) FROM users")) == 1
    postgres.drop("of_the_first_revision")


def test_every_migration_says_whether_former_code_works_after_it() -> None:
    config = Config()
    config.set_main_option("script_location", str(migration.MIGRATIONS))
    silent = [
        script.revision
        for script in ScriptDirectory.from_config(config).walk_revisions()
        if not hasattr(script.module, "contracts")
    ]
    assert silent == ["0003", "0002", "0001"], "a new one declares `contracts = False` or `contracts = True`"
