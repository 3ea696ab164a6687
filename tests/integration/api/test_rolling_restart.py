"""Servers are restarted one by one, with a migration in between, and no request fails."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import pytest

from oddish.db import migration
from support.migrations import NEXT, release

from .serving import KEY
from .test_process import environment, free_port, ready_status

DRAIN_SECONDS = 3
LOOK_SECONDS = 0.2


@dataclass
class Balancer:
    """Sends requests to the servers that said last that they are ready, in turn."""

    urls: list[str]
    ready: set[str] = field(default_factory=set)
    answered: dict[str, int] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        with httpx2.Client(timeout=5) as client:
            while not self.ended.wait(LOOK_SECONDS):
                for url in self.urls:
                    try:
                        is_ready = client.get(f"{url}/health/ready").status_code == 200
                    except httpx2.TransportError:
                        is_ready = False
                    (self.ready.add if is_ready else self.ready.discard)(url)

    def send(self) -> None:
        headers = {"Authorization": f"Bearer {KEY}", "Connection": "close"}
        with httpx2.Client(timeout=10, headers=headers) as client:
            while not self.ended.is_set():
                for url in [url for url in self.urls if url in self.ready]:
                    try:
                        status = client.get(f"{url}/tasks").status_code
                    except httpx2.TransportError as error:
                        self.failed.append(f"{url}: {error!r}")
                    else:
                        if status != 200:
                            self.failed.append(f"{url}: {status}")
                        self.answered[url] = self.answered.get(url, 0) + 1

    @contextmanager
    def working(self) -> Iterator[None]:
        threads = [threading.Thread(target=work) for work in (self.look, self.send)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.ended.set()
            for thread in threads:
                thread.join(30)


@pytest.fixture
def ports() -> list[int]:
    return [free_port(), free_port()]


def test_no_request_fails_while_servers_are_restarted_and_the_schema_grows(
    database_url: str, oddish_home: Path, tmp_path: Path, ports: list[int]
) -> None:
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    settings = [
        environment(
            database_url,
            oddish_home,
            ODDISH_PORT=str(port),
            ODDISH_BOOTSTRAP_KEY=KEY,
            ODDISH_DRAIN_SECONDS=str(DRAIN_SECONDS),
        )
        for port in ports
    ]
    balancer = Balancer(urls)
    with ExitStack() as servers:
        first, second = (servers.enter_context(running(own)) for own in settings)
        for url in urls:
            wait_until_ready(url)
        with balancer.working():
            migrations = release(tmp_path, "ALTER TABLE trials ADD COLUMN colour text", contracts=False)
            assert migration.upgrade(database_url, migrations=migrations) == "same"
            for process, url, own in zip((first, second), urls, settings, strict=True):
                end(process)
                servers.enter_context(running(own))
                wait_until_ready(url, revision=NEXT)
    assert balancer.failed == []
    assert all(balancer.answered[url] > 10 for url in urls)


def wait_until_ready(url: str, *, revision: str = "") -> None:
    with httpx2.Client(base_url=url) as client:
        ready_status(client, 200)
        assert revision in client.get("/health/ready").json()["dependencies"]["database"]["detail"]


@contextmanager
def running(settings: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A server whose many lines nobody reads."""
    process = subprocess.Popen([sys.executable, "-m", "oddish.api"], env=settings, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
