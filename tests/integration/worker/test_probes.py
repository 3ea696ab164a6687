"""What a worker says of itself over HTTP."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from oddish.listening import AddressTaken
from oddish.readiness import Check, Readiness, Unready
from oddish.worker.metrics import LOST
from oddish.worker.probes import probes

pytestmark = pytest.mark.anyio


class Engine:
    """Something a worker needs."""

    def __init__(self) -> None:
        self.runs = True

    async def check(self) -> str:
        if not self.runs:
            raise Unready("does not run")
        return "runs"


@pytest.fixture
def needed() -> Engine:
    return Engine()


@pytest.fixture
def readiness(needed: Engine) -> Readiness:
    return Readiness({"engine": Check(needed.check, seconds=0)})


async def test_a_worker_that_has_what_it_needs_is_ready(readiness: Readiness) -> None:
    async with probes("127.0.0.1", 0, readiness) as url, httpx2.AsyncClient(base_url=url) as client:
        assert (await client.get("/health/live")).json() == {"status": "alive"}
        answer = await client.get("/health/ready")
        assert answer.status_code == 200
        assert answer.json() == {"status": "ready", "dependencies": {"engine": {"ok": True, "detail": "runs"}}}


async def test_a_worker_without_something_it_needs_lives_and_is_not_ready(readiness: Readiness, needed: Engine) -> None:
    needed.runs = False
    async with probes("127.0.0.1", 0, readiness) as url, httpx2.AsyncClient(base_url=url) as client:
        assert (await client.get("/health/live")).status_code == 200
        answer = await client.get("/health/ready")
        assert answer.status_code == 503
        assert answer.json()["dependencies"]["engine"] == {"ok": False, "detail": "does not run"}
        readiness.drain()
        assert (await client.get("/health/ready")).json()["status"] == "draining"


async def test_a_worker_shows_its_counters_and_nothing_else(readiness: Readiness) -> None:
    LOST.labels("released").inc()
    async with probes("127.0.0.1", 0, readiness) as url, httpx2.AsyncClient(base_url=url) as client:
        answer = await client.get("/metrics")
        assert answer.headers["content-type"].startswith("text/plain")
        assert 'oddish_attempts_lost_total{cause="released"}' in answer.text
        assert (await client.get("/trials")).status_code == 404
        assert (await client.post("/metrics")).status_code == 405


async def test_a_taken_port_is_named(readiness: Readiness) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(AddressTaken, match=f"port {port}.*ODDISH_WORKER_METRICS_PORT"):
            async with probes("127.0.0.1", port, readiness):
                pass


def test_a_worker_that_cannot_listen_leaves_nothing_of_itself(database_url: str, oddish_home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        own = {"ODDISH_HOME": str(oddish_home), "ODDISH_DATABASE_URL": database_url, "ODDISH_WORKER_METRICS_PORT": port}
        done = subprocess.run(
            [sys.executable, "-m", "oddish.worker"],
            env={**os.environ, **own},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert f"cannot listen on 127.0.0.1 port {port}" in done.stdout + done.stderr
    assert {path.name for path in (oddish_home / "work").iterdir() if path.is_dir()} == {"tasks", "engines"}
