"""The server as a process: it starts quickly, refuses by name, and stops in good order."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx2
import psycopg
import pytest

from oddish.api.process import GRACE_SECONDS, main
from oddish.db import migration
from oddish.db.url import plain
from oddish.errors import EXIT_UNREADABLE_SETTING
from support.migrations import NEXT, release
from support.waiting import eventually

from .following import followed, running_trial
from .serving import KEY, Server, TaskFolder

pytestmark = pytest.mark.long


def environment(database_url: str, home: Path, **settings: str) -> dict[str, str]:
    return {**os.environ, "ODDISH_HOME": str(home), "ODDISH_DATABASE_URL": database_url, **settings}


@contextmanager
def running(settings: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, "-m", "oddish.api"], env=settings, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def refusal(settings: dict[str, str], code: int = 1) -> str:
    """What a server says that ends without having served."""
    done = subprocess.run(
        [sys.executable, "-m", "oddish.api"], env=settings, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    return done.stderr


type Refused = Callable[..., str]


@pytest.fixture
def refused(
    database_url: str, own_logs: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Refused:
    """As ``refusal``, without a process of its own; given settings by name."""

    def refused(**settings: str) -> str:
        for name, value in {"ODDISH_DATABASE_URL": database_url, **settings}.items():
            monkeypatch.setenv(name, value)
        assert main() == 1
        return capsys.readouterr().err

    return refused


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def test_it_serves_and_stops_in_good_order(database_url: str, oddish_home: Path) -> None:
    port = free_port()
    settings = environment(database_url, oddish_home, ODDISH_PORT=str(port), ODDISH_BOOTSTRAP_KEY=KEY)
    with running(settings) as process:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}") as client:
            ready_status(client, 200)
            assert client.get("/health").json()["status"] == "healthy"
            assert client.get("/tasks", headers={"Authorization": f"Bearer {KEY}"}).json() == []
            client.get("/store/some/key?signature=very-secret")
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "/store/some/key" in log
    assert "very-secret" not in log
    assert KEY not in log


def test_a_server_that_drains_says_so_answers_and_then_ends(database_url: str, oddish_home: Path) -> None:
    port = free_port()
    settings = environment(
        database_url,
        oddish_home,
        ODDISH_PORT=str(port),
        ODDISH_BOOTSTRAP_KEY=KEY,
        ODDISH_DRAIN_SECONDS="3600",
        ODDISH_LOG_FORMAT="json",
    )
    with running(settings) as process, httpx2.Client(base_url=f"http://127.0.0.1:{port}") as client:
        assert ready_status(client, 200) == "ready"
        process.send_signal(signal.SIGTERM)
        assert ready_status(client, 503) == "draining"
        headers = {"Authorization": f"Bearer {KEY}", "X-Correlation-Id": "found-again"}
        assert client.get("/tasks", headers=headers).json() == []
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=30)
    assert process.returncode == 0
    lines = [json.loads(line) for line in log.splitlines()]
    assert [line["path"] for line in lines if line.get("correlation_id") == "found-again"] == ["/tasks"]
    assert "draining" in [line["event"] for line in lines]


def test_the_trials_of_a_request_are_found_in_the_log_by_its_correlation_id(
    server: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder], database_url: str, oddish_home: Path
) -> None:
    server.offer()
    task_id = str(new_task().upload(client)["task_id"])
    port = free_port()
    settings = environment(database_url, oddish_home, ODDISH_PORT=str(port), ODDISH_LOG_FORMAT="json")
    with running(settings) as process, httpx2.Client(base_url=f"http://127.0.0.1:{port}") as other:
        ready_status(other, 200)
        headers = {"Authorization": f"Bearer {KEY}", "X-Correlation-Id": "found-again"}
        body = {"task_id": task_id, "experiment_id": "one", "configs": [{"agent": "nop", "n_trials": 3}]}
        for _ in range(2):
            assert other.post("/tasks/sweep", json=body, headers=headers).status_code == 200
        assert other.get(f"/trials/{task_id}-0", headers=headers).json()["correlation_id"] == "found-again"
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=30)
    lines = [json.loads(line) for line in log.splitlines()]
    [created] = [line for line in lines if line["event"] == "trials created"]
    assert (created["correlation_id"], created["trials"]) == ("found-again", 3)
    assert (created["first"], created["last"]) == (f"{task_id}-0", f"{task_id}-2")


def test_a_server_that_has_drained_for_long_enough_ends(database_url: str, oddish_home: Path) -> None:
    port = free_port()
    settings = environment(database_url, oddish_home, ODDISH_PORT=str(port), ODDISH_DRAIN_SECONDS="0.5")
    with running(settings) as process, httpx2.Client(base_url=f"http://127.0.0.1:{port}") as client:
        assert ready_status(client, 200) == "ready"
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    assert process.returncode == 0


def ready_status(client: httpx2.Client, code: int) -> str:
    """What the server says of itself once it answers with ``code``."""

    def status() -> str | None:
        with suppress(httpx2.TransportError):
            answer = client.get("/health/ready")
            if answer.status_code == code:
                return str(answer.json()["status"])
        return None

    return eventually(status)


def test_a_taken_port_is_named(refused: Refused) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        message = refused(ODDISH_PORT=port)
    assert f"port {port}" in message
    assert "ODDISH_PORT" in message


def test_a_database_that_fails_while_the_server_starts_is_no_traceback(database_url: str, oddish_home: Path) -> None:
    with psycopg.connect(plain(database_url), autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')  # type: ignore[call-overload]
    assert "The database cannot be used: cannot execute" in refusal(environment(database_url, oddish_home))


def test_an_unknown_schema_is_refused_by_name(database_url: str, refused: Refused) -> None:
    with psycopg.connect(plain(database_url), autocommit=True) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    assert "'9999'" in refused()
    with psycopg.connect(plain(database_url), autocommit=True) as connection:
        connection.execute("DROP TABLE alembic_version")
    assert "without a schema" in refused()


def test_a_server_starts_beside_a_newer_schema_that_only_grew(
    database_url: str, oddish_home: Path, tmp_path: Path
) -> None:
    migrations = release(tmp_path, "ALTER TABLE workers ADD COLUMN colour text", contracts=False)
    migration.upgrade(database_url, migrations=migrations)
    port = free_port()
    with (
        running(environment(database_url, oddish_home, ODDISH_PORT=str(port))),
        httpx2.Client(base_url=f"http://127.0.0.1:{port}") as client,
    ):
        assert ready_status(client, 200) == "ready"


def test_a_newer_schema_that_shrank_is_refused_by_name(database_url: str, refused: Refused, tmp_path: Path) -> None:
    migrations = release(tmp_path, "ALTER TABLE workers DROP COLUMN version", contracts=True)
    migration.upgrade(database_url, migrations=migrations)
    message = refused()
    assert f"revision '{NEXT}', of a newer release" in message


def test_others_are_not_let_in_without_a_key(refused: Refused) -> None:
    message = refused(ODDISH_HOST="0.0.0.0", ODDISH_PORT="0")  # noqa: S104
    assert "without any key" in message
    assert "ODDISH_BOOTSTRAP_KEY" in message


@pytest.mark.parametrize(
    ("setting", "value", "named"),
    [
        ("ODDISH_BOOTSTRAP_KEY", "secret", "32 lower-case hex digits"),
        ("ODDISH_DATABASE_URL", "", "ODDISH_DATABASE_URL is empty"),
        ("ODDISH_DATABASE_URL", "postgresql+psycopg://nobody@/none?host=/nowhere", "database cannot be used"),
        ("ODDISH_STORAGE_URL", "ftp://x", "ftp://x"),
    ],
)
def test_settings_that_cannot_be_served(refused: Refused, setting: str, value: str, named: str) -> None:
    assert named in refused(**{setting: value})


def test_a_setting_that_cannot_be_read_has_an_exit_code_of_its_own(database_url: str, oddish_home: Path) -> None:
    settings = environment(database_url, oddish_home, ODDISH_PORT="eighty")
    assert "ODDISH_PORT cannot be read" in refusal(settings, EXIT_UNREADABLE_SETTING)


def test_whoever_follows_a_trial_goes_on_at_the_next_server(
    server: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder], database_url: str, oddish_home: Path
) -> None:
    trial = running_trial(server, client, new_task)
    trial.begin()
    port = free_port()
    settings = environment(database_url, oddish_home, ODDISH_PORT=str(port), ODDISH_BOOTSTRAP_KEY=KEY)
    url = f"http://127.0.0.1:{port}"
    with ExitStack() as stack:
        process = stack.enter_context(running(settings))
        with httpx2.Client(base_url=url) as started:
            assert ready_status(started, 200) == "ready"
        follower = stack.enter_context(followed(url, trial.trial_id))
        trial.says("one")
        eventually(lambda: follower.texts == ["one"])
        process.terminate()
        assert process.wait(GRACE_SECONDS / 2) == 0, "a follower is not waited for"
        _, log = process.communicate(timeout=30)
        assert "[error" not in log
        trial.says("two")
        stack.enter_context(running(settings))
        eventually(lambda: follower.texts == ["one", "two"])
        trial.ends()
        assert follower.done.wait(60)
    assert follower.error is None
    assert follower.texts == ["one", "two"]
