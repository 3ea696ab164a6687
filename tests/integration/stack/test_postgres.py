import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from oddish.db.url import plain
from oddish.errors import Unavailable
from oddish.stack import account, binaries, cluster, database, process
from oddish.stack.binaries import Binaries
from oddish.stack.cluster import DATABASE
from oddish.stack.postgres import EmbeddedPostgres

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("oddish_home")]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root changes accounts")


def connect(server: EmbeddedPostgres, name: str = DATABASE) -> psycopg.Connection:
    return psycopg.connect(plain(server.url(name)), autocommit=True)


def fetch(server: EmbeddedPostgres, statement: str) -> object:
    with connect(server) as connection:
        row = connection.execute(statement.encode()).fetchone()
    return row and row[0]


def execute(server: EmbeddedPostgres, statement: str) -> None:
    with connect(server) as connection:
        connection.execute(statement.encode())


def kill(server: EmbeddedPostgres) -> int:
    """Kill the postmaster and leave it a zombie."""
    assert server.pid is not None
    pid = server.pid
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    return pid


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "postgres"


@pytest.fixture
def server(directory: Path) -> Iterator[EmbeddedPostgres]:
    with EmbeddedPostgres(directory, durable=False) as running:
        yield running


def test_it_is_private_and_listens_on_no_address(server: EmbeddedPostgres, directory: Path) -> None:
    assert fetch(server, "SHOW listen_addresses") == ""
    data = fetch(server, "SHOW data_directory")
    for private in (directory, Path(str(data)), directory / "socket"):
        assert stat.S_IMODE(private.stat().st_mode) == 0o700


def test_it_is_durable_unless_told_otherwise(directory: Path) -> None:
    with EmbeddedPostgres(directory) as server:
        assert (fetch(server, "SHOW fsync"), fetch(server, "SHOW synchronous_commit")) == ("on", "on")


def test_data_stay_over_a_stop_and_a_start(server: EmbeddedPostgres) -> None:
    execute(server, "CREATE TABLE t AS SELECT 1 AS x")
    server.stop()
    server.start()
    assert fetch(server, "SELECT x FROM t") == 1


def test_foreign_settings_in_the_environment_do_not_matter(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PGPORT": "1", "PGDATA": "/nowhere", "PGHOST": "nowhere", "PGOPTIONS": "-c x.y=z"}.items():
        monkeypatch.setenv(name, value)
    with EmbeddedPostgres(directory, durable=False) as server:
        monkeypatch.delenv("PGOPTIONS")
        assert fetch(server, "SHOW port") == "5432"


def test_a_deep_directory_has_its_socket_elsewhere(tmp_path: Path) -> None:
    directory = tmp_path / ("deep" * 25) / "home"
    with EmbeddedPostgres(directory, durable=False) as server:
        sockets = Path(str(fetch(server, "SHOW unix_socket_directories")))
        assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
        second = EmbeddedPostgres(directory)
        with pytest.raises(Unavailable, match="in use by process"):
            second.start()
        second.stop()
        assert fetch(server, "SELECT 1") == 1
    assert not sockets.exists()


def test_a_killed_postmaster_still_a_zombie_is_replaced(server: EmbeddedPostgres) -> None:
    execute(server, "CREATE TABLE t AS SELECT 1 AS x")
    first = kill(server)
    server.start()
    assert server.pid != first
    assert fetch(server, "SELECT x FROM t") == 1


def test_dead_rows_that_a_crash_made_postgresql_forget_are_counted_again(server: EmbeddedPostgres) -> None:
    execute(server, "CREATE TABLE t AS SELECT n, 0 AS x FROM generate_series(1, 1000) n")
    execute(server, "ANALYZE t")
    assert not database.recount(server.url())
    execute(server, "UPDATE t SET x = 1")
    execute(server, "CHECKPOINT")
    kill(server)
    server.start()
    assert fetch(server, "SELECT n_dead_tup FROM pg_stat_user_tables") == 0
    assert database.recount(server.url())
    assert fetch(server, "SELECT n_dead_tup FROM pg_stat_user_tables") == 1000
    assert not database.recount(server.url())


def test_a_stop_and_a_start_forget_no_dead_rows(server: EmbeddedPostgres) -> None:
    execute(server, "CREATE TABLE t AS SELECT n, 0 AS x FROM generate_series(1, 1000) n")
    execute(server, "ANALYZE t")
    execute(server, "UPDATE t SET x = 1")
    server.stop()
    server.start()
    assert not database.recount(server.url())
    assert fetch(server, "SELECT n_dead_tup FROM pg_stat_user_tables") == 1000


def test_a_backend_busy_in_an_orphaned_cluster_is_ended(server: EmbeddedPostgres) -> None:
    with connect(server) as connection, connection.cursor() as cursor:
        backend = process.process(connection.info.backend_pid)
        assert backend is not None
        backend.send(signal.SIGSTOP)
        kill(server)
        server.start()
        assert not backend.alive()
        with pytest.raises(psycopg.OperationalError):
            cursor.execute("SELECT 1")


def test_a_lock_file_with_the_pid_of_a_stranger_is_stale(server: EmbeddedPostgres, directory: Path) -> None:
    server.stop()
    (data,) = directory.glob("[0-9]*")
    for lock in (data / "postmaster.pid", directory / "socket" / ".s.PGSQL.5432.lock"):
        lock.write_text(f"{os.getppid()}\n{data}\n0\n5432\n{directory / 'socket'}\n\n0 0\nready\n")
    server.start()
    assert fetch(server, "SELECT 1") == 1


def test_a_server_left_by_a_killed_owner_is_taken_over(directory: Path) -> None:
    program = (
        "import os, pathlib, signal, sys; from oddish.stack.postgres import EmbeddedPostgres\n"
        f"EmbeddedPostgres(pathlib.Path({str(directory)!r}), durable=False).start(); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -signal.SIGKILL
    with EmbeddedPostgres(directory, durable=False) as server:
        assert fetch(server, "SELECT 1") == 1


def test_a_second_owner_is_refused(server: EmbeddedPostgres, directory: Path) -> None:
    with pytest.raises(Unavailable, match=f"in use by process {os.getpid()}"):
        EmbeddedPostgres(directory).start()
    assert fetch(server, "SELECT 1") == 1


def test_what_an_interrupted_creation_left_is_swept(directory: Path) -> None:
    (directory / ".new-abc" / "base").mkdir(parents=True)
    with EmbeddedPostgres(directory, durable=False):
        assert list(directory.glob(".new-*")) == []


def test_a_creation_whose_last_statement_fails_leaves_nothing(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "DATABASE", "postgres")
    with pytest.raises(Unavailable, match='database "postgres" already exists'):
        EmbeddedPostgres(directory).start()
    assert list(directory.glob("[0-9]*")) == []


def test_a_cluster_without_its_database_gets_one(server: EmbeddedPostgres) -> None:
    with connect(server, "postgres") as connection:
        connection.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)".encode())
    server.stop()
    server.start()
    assert fetch(server, "SELECT 1") == 1


def test_an_older_major_version_is_upgraded_and_kept(directory: Path) -> None:
    newest, older, *_ = installed = binaries.installed()
    with EmbeddedPostgres(directory, durable=False, installed=[older]) as server:
        execute(server, "CREATE TABLE t AS SELECT n FROM generate_series(1, 1000) n")
    with EmbeddedPostgres(directory, durable=False, installed=installed) as server:
        assert str(fetch(server, "SHOW server_version")).startswith(f"{newest.major}.")
        assert fetch(server, "SELECT sum(n) FROM t") == 500500
        assert len(server.notes) == 1
    backup = directory / f"{older.major}.backup1"
    assert (backup / "PG_VERSION").read_text().strip() == str(older.major)
    assert str(backup) in server.notes[0]
    with EmbeddedPostgres(directory, durable=False, installed=installed) as server:
        assert fetch(server, "SELECT count(*) FROM t") == 1000
        assert server.notes == []


def test_an_upgrade_that_fails_changes_nothing(directory: Path) -> None:
    newest, older, *_ = binaries.installed()
    with EmbeddedPostgres(directory, durable=False, installed=[older]) as server:
        execute(server, "CREATE TABLE t AS SELECT 1 AS x")
    broken = directory.parent / "broken"
    broken.mkdir()
    for program in newest.directory.iterdir():
        (broken / program.name).symlink_to("/bin/false" if program.name == "pg_restore" else program)
    with pytest.raises(Unavailable, match="pg_restore failed"):
        EmbeddedPostgres(directory, durable=False, installed=[Binaries(newest.major, broken), older]).start()
    assert [path.name for path in directory.glob("[0-9]*")] == [str(older.major)]
    with EmbeddedPostgres(directory, durable=False, installed=[older]) as server:
        assert fetch(server, "SELECT x FROM t") == 1


def test_data_of_a_version_that_is_not_installed_are_an_error_with_the_fix(directory: Path) -> None:
    newest, older, *_ = binaries.installed()
    with EmbeddedPostgres(directory, durable=False, installed=[newest]):
        pass
    with pytest.raises(Unavailable, match=re.escape(f"was written by PostgreSQL {newest.major}") + ".*Install"):
        EmbeddedPostgres(directory, durable=False, installed=[older]).start()


def test_a_data_directory_of_another_version_than_its_name_is_refused(directory: Path) -> None:
    (directory / "18").mkdir(parents=True)
    (directory / "18" / "PG_VERSION").write_text("12\n")
    with pytest.raises(Unavailable, match="PG_VERSION says 12"):
        EmbeddedPostgres(directory).start()


@as_root
def test_root_without_namespaces_uses_an_account_and_may_change_its_mind(directory: Path) -> None:
    nobody = account.as_system_account()
    assert nobody is not None
    for runner in (nobody, account.current(), nobody):
        with EmbeddedPostgres(directory, durable=False, runner=runner) as server:
            execute(server, "CREATE TABLE IF NOT EXISTS t AS SELECT 1 AS x")
            assert fetch(server, "SELECT x FROM t") == 1


@as_root
def test_a_directory_of_another_user_is_refused(directory: Path) -> None:
    directory.mkdir()
    os.chown(directory, 12345, 12345)
    with pytest.raises(Unavailable, match="belongs to user id 12345"):
        EmbeddedPostgres(directory).start()
