"""A real server on the loopback with a real database, and what a client needs to talk to it."""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx2
import psycopg
import pytest
import structlog
import uvicorn

from oddish.api.app import create_app
from oddish.db.url import plain
from oddish.listening import listen
from oddish.logs import configure_logging
from oddish.settings import Settings

from .furnishing import SHELF, Furnished, furnish
from .serving import KEY, Server, ServerThread, TaskFolder


def log_plainly() -> None:
    configure_logging("console")
    structlog.configure(cache_logger_on_first_use=False)  # else a logger first used by a quiet test stays quiet


@pytest.fixture(autouse=True, scope="session")
def plain_logs() -> None:
    log_plainly()


@pytest.fixture
def own_logs() -> Iterator[None]:
    """The test configures them as it likes."""
    yield
    log_plainly()


@pytest.fixture
def quiet_logs() -> Iterator[None]:
    """Many requests leave no lines."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    yield
    structlog.configure(**before)


@pytest.fixture
def settings(database_url: str, oddish_home: Path) -> Settings:
    return Settings(
        home=oddish_home,
        database_url=database_url,
        bootstrap_key=KEY,
        publication_wait_seconds=0.2,
        max_request_bytes=100_000,
        max_archive_bytes=200_000,
        max_extracted_bytes=1_000_000,
        max_archive_entries=100,
        gateway_allowed_hosts=["127.0.0.1"],
        gateway_concurrency=1000,
        gateway_wait_seconds=0.1,
        viewer_directories={SHELF: oddish_home / "results"},
    )


@pytest.fixture
def start(database_url: str) -> Iterator[Callable[[Settings], Server]]:
    with ExitStack() as stack:

        def run(settings: Settings) -> Server:
            app = create_app(settings)
            listener = listen("127.0.0.1", 0)
            config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="on")
            stack.enter_context(ServerThread(config, listener, app.state.services).running())
            database = stack.enter_context(psycopg.connect(plain(database_url), autocommit=True))
            server = Server(f"http://127.0.0.1:{listener.getsockname()[1]}", app.state.services, database)
            stack.enter_context(server.clients)
            return server

        yield run


@pytest.fixture
def server(start: Callable[[Settings], Server], settings: Settings) -> Server:
    return start(settings)


@pytest.fixture
def client(server: Server) -> httpx2.Client:
    return server.client()


@pytest.fixture
def new_task(tmp_path: Path) -> Callable[..., TaskFolder]:
    def create(name: str = "hello", *, instruction: str = "Say hello.", config: str = "") -> TaskFolder:
        path = tmp_path / "tasks" / name
        (path / "tests").mkdir(parents=True, exist_ok=True)
        (path / "environment").mkdir(exist_ok=True)
        (path / "solution").mkdir(exist_ok=True)
        (path / "solution" / "solve.sh").write_text("#!/bin/sh\n")
        (path / "task.toml").write_text(config or 'schema_version = "1.0"\n[agent]\ntimeout_sec = 60.0\n')
        (path / "instruction.md").write_text(instruction)
        (path / "environment" / "Dockerfile").write_text("FROM debian:12\n")
        (path / "tests" / "test.sh").write_text("#!/bin/sh\necho 1 > /logs/verifier/reward.txt\n")
        return TaskFolder(path)

    return create


@pytest.fixture
def furnished(server: Server, client: httpx2.Client, new_task: Callable[..., TaskFolder]) -> Furnished:
    return furnish(server, client, new_task)
