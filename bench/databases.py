"""A PostgreSQL server that is the bench's own, with the schema, and an API server in front of it."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from oddish.db import migration
from oddish.db.url import plain
from oddish.stack.postgres import EmbeddedPostgres

KEY = "ok_" + "b" * 32
START_SECONDS = 60.0


@dataclass(frozen=True)
class Database:
    url: str
    """With the driver."""
    log: Path
    directory: Path

    def connect(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(plain(self.url), autocommit=True)

    def other(self, name: str) -> str:
        """URL without driver of a new database of the same server."""
        with self.connect() as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        return plain(self.url).replace("@/oddish?", f"@/{name}?")


@contextmanager
def database() -> Iterator[Database]:
    with tempfile.TemporaryDirectory(prefix="oddish-bench-") as name, EmbeddedPostgres(Path(name)) as server:
        migration.upgrade(server.url())
        yield Database(server.url(), Path(name) / "postgres.log", Path(name))


@contextmanager
def api(where: Database) -> Iterator[str]:
    """The address of an API server as ``oddish server`` runs it; ``KEY`` is its key."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    environment = {
        **os.environ,
        "ODDISH_HOME": str(where.directory / "api"),
        "ODDISH_DATABASE_URL": where.url,
        "ODDISH_BOOTSTRAP_KEY": KEY,
        "ODDISH_PORT": str(port),
    }
    with (where.directory / "api.log").open("wb") as log:
        command = (sys.executable, "-P", "-m", "oddish.api")
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(url, process, where.directory / "api.log")
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5):
                return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"the API server does not answer:\n{log.read_text()}")
