"""Clients that hold connections without sending anything."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from oddish.api import app
from oddish.api.process import OTHER_FILES
from oddish.settings import Settings

from .serving import KEY, Server

CONNECTIONS = 20


@pytest.fixture
def impatient(start: Callable[[Settings], Server], settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setattr(app, "BODY_PAUSE_SECONDS", 0.1)
    return start(settings)


def answered(server: Server, beginning: bytes) -> bytes:
    """All that is answered to what begins a request until the server hangs up."""
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=20) as connection:
        connection.sendall(beginning)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def head(method: str, path: str, *, announced: str = "Content-Length: 1000") -> bytes:
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Bearer {KEY}",
        "Content-Type: application/json",
        announced,
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def stalled(answer: bytes) -> bool:
    before, _, body = answer.partition(b"\r\n\r\n")
    problem = json.loads(body)
    assert before.startswith(b"HTTP/1.1 408 "), answer
    assert b"connection: close" in before.lower()
    assert b"application/problem+json" in before
    return (problem["code"], problem["status"]) == ("body_stalled", 408)


@pytest.mark.parametrize("sent", [b"", b'{"task_ids": ["'])
def test_a_body_that_stops_is_refused_and_the_connection_closed(impatient: Server, sent: bytes) -> None:
    assert stalled(answered(impatient, head("POST", "/tasks/cancel") + sent))
    assert stalled(answered(impatient, head("PUT", "/secrets/NAME") + sent))


def test_a_body_in_chunks_that_stops_is_refused(impatient: Server) -> None:
    assert stalled(
        answered(impatient, head("POST", "/tasks/cancel", announced="Transfer-Encoding: chunked") + b"1\r\n{\r\n")
    )


def test_an_upload_that_stops_leaves_nothing(impatient: Server) -> None:
    url = impatient.services.signer.sign("PUT", "uploads/slow.tar.gz", expires_in=60, size_limit=1000)
    assert stalled(answered(impatient, head("PUT", url) + b"x" * 500))
    root = Path(impatient.services.settings.storage_url.removeprefix("file://"))
    assert not [path for path in root.rglob("*") if path.is_file()]


def test_more_connections_than_there_are_files_for_are_answered_503(database_url: str, oddish_home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = int(listener.getsockname()[1])
    settings = {"ODDISH_HOME": str(oddish_home), "ODDISH_DATABASE_URL": database_url, "ODDISH_PORT": str(port)}
    limit = ["prlimit", f"--nofile={OTHER_FILES + CONNECTIONS}"]
    server = subprocess.Popen(
        [*limit, sys.executable, "-m", "oddish.api"],
        env={**os.environ, **settings, "ODDISH_BOOTSTRAP_KEY": KEY},
        stderr=subprocess.DEVNULL,
    )
    try:
        with ExitStack() as held:
            for _ in range(CONNECTIONS):
                held.enter_context(connected(port))
            assert status(port) == 503
        deadline = time.monotonic() + 20
        while status(port) != 200:
            assert time.monotonic() < deadline
    finally:
        server.kill()
        server.wait()


def connected(port: int) -> socket.socket:
    """A connection, as soon as there is somebody to connect to."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=20)
        except ConnectionRefusedError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def status(port: int) -> int:
    return httpx2.get(f"http://127.0.0.1:{port}/health", timeout=20).status_code
