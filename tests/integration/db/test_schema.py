"""The tables that the code sees are the tables that the migrations make."""

import pytest
import sqlalchemy
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, inspect, text

import oddish.db
from oddish.db.revision import HEAD
from oddish.db.tables import metadata


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
    config.set_main_option("script_location", str(oddish.db.MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_heads() == [HEAD]


def test_upgrading_twice_changes_nothing(database_url: str) -> None:
    oddish.db.upgrade(database_url)
    engine = create_engine(database_url)
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT version_num FROM alembic_version")) == HEAD
    engine.dispose()
