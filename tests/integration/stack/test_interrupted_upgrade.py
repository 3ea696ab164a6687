"""A start that moves the database to a newer PostgreSQL is killed at each of its steps: the next start has the data."""

import shutil
import signal
from pathlib import Path

import psycopg
import pytest

from oddish.db import migration
from oddish.db.url import plain
from oddish.errors import Unavailable
from oddish.stack import binaries, database, upgrade
from oddish.stack.postgres import EmbeddedPostgres
from support.deadly_steps import chosen, die_at

pytestmark = [
    pytest.mark.usefixtures("oddish_home"),
    pytest.mark.skipif(len(binaries.installed()) < 2, reason="one version of PostgreSQL is installed"),
]

START = """
import pathlib
from oddish.stack.postgres import EmbeddedPostgres
EmbeddedPostgres(pathlib.Path(sys.argv[1])).start()
"""
STEPS = range(13)
"""pg_dump, initdb, its statement and pg_restore; the starts and stops of three servers; four renames."""


@pytest.fixture(scope="module")
def of_the_older_version(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("older") / "postgres"
    with (
        EmbeddedPostgres(directory, durable=False, installed=binaries.installed()[1:]) as server,
        connect(server) as connection,
    ):
        migration.upgrade(server.url())
        connection.execute("CREATE TABLE t AS SELECT n FROM generate_series(1, 1000) n")
    return directory


@pytest.fixture
def directory(of_the_older_version: Path, tmp_path: Path) -> Path:
    return shutil.copytree(of_the_older_version, tmp_path / "postgres", symlinks=True)


def connect(server: EmbeddedPostgres) -> psycopg.Connection:
    return psycopg.connect(plain(server.url()), autocommit=True)


@pytest.mark.parametrize("step", chosen(STEPS))
def test_no_step_can_lose_the_data(directory: Path, step: int) -> None:
    assert die_at(step, START, directory) == -signal.SIGKILL
    newest, older, *_ = binaries.installed()
    with EmbeddedPostgres(directory, durable=False) as server, connect(server) as connection:
        assert connection.execute("SELECT sum(n) FROM t").fetchall() == [(500500,)]
        assert connection.info.server_version // 10_000 == newest.major
        assert database.schema(server.url()).fit() == "same"
    assert sorted(path.name for path in directory.iterdir() if path.is_dir()) == sorted(
        [str(newest.major), f"{older.major}.backup1", "socket"]
    )
    assert upgrade.kept(directory) == [directory / f"{older.major}.backup1"]


def test_these_are_all_steps(directory: Path) -> None:
    assert die_at(len(STEPS), START, directory) == 0


def test_an_upgrade_that_does_not_fit_on_the_disk_is_refused_before_it_begins(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"Moving it takes \d+ MiB, and \d+ MiB are free in .* Nothing was changed"):
        upgrade.require_room(tmp_path, shutil.disk_usage(tmp_path).free, "Moving it")
    upgrade.require_room(tmp_path, 0, "Moving it")
