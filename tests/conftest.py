"""What every ring shares: an environment of its own, and a real PostgreSQL with a fresh migrated database per test.

``ODDISH_TEST_DATABASE_URL`` names a server to use instead of the embedded one; its user must be able to create
databases. Each pytest-xdist worker has its own template and, by default, its own server.
"""

import functools
import gc
import itertools
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import httpcore2
import hypothesis
import psycopg
import pytest
from psycopg import sql

from oddish.db import migration
from oddish.db.url import plain
from oddish.stack.postgres import EmbeddedPostgres

_SERVER = "ODDISH_TEST_DATABASE_URL"
MEMORY = Path("/dev/shm")
LEAST_MEMORY_BYTES = 4 * 2**30

# Whoever starts tests in the background may have it ignored, and programs that tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Modules and tests stay for good: no search for garbage looks through them, neither while they are collected nor later.
gc.disable()

# Where the machine says that no bytecode is kept, each of thousands of processes would compile anew what it imports.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Else litellm asks the internet for prices while it is imported, three times if need be.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

# Every client reads all certificates of the machine anew, and no test changes them.
httpcore2.default_ssl_context = functools.cache(httpcore2.default_ssl_context)

# Machines that run tests are shared; how long an example takes says nothing about it.
hypothesis.settings.register_profile("oddish", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("oddish")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long modules first: processes that take whole files then end at about the same time."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


@dataclass(frozen=True)
class Postgres:
    """A server for tests. ``create`` gives an empty database, or a copy of another one."""

    maintenance: str

    def url(self, database: str) -> str:
        return urlunsplit(urlsplit(self.maintenance)._replace(path=f"/{database}"))

    def create(self, database: str, *, template: str | None = None) -> str:
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
        self._execute(statement.format(sql.Identifier(database), sql.Identifier(template or "template0")))
        return self.url(database)

    def drop(self, database: str) -> None:
        self._execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(database)))

    def _execute(self, statement: sql.Composed) -> None:
        with psycopg.connect(plain(self.maintenance), autocommit=True) as connection:
            connection.execute(statement)


@pytest.fixture(autouse=True)
def oddish_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No setting of the developer's reaches a test; the state directory is the test's own."""
    for name in [name for name in os.environ if name.startswith(("ODDISH_", "PG"))]:
        monkeypatch.delenv(name)
    home = tmp_path / "oddish-home"
    monkeypatch.setenv("ODDISH_HOME", str(home))
    return home


@pytest.fixture(scope="session")
def worker_name() -> str:
    return os.environ.get("PYTEST_XDIST_WORKER", "main")


def quick_directory() -> Path | None:
    """In memory where there is plenty of it: a database for each test is hundreds of files."""
    with suppress(OSError):
        if shutil.disk_usage(MEMORY).free > LEAST_MEMORY_BYTES and os.access(MEMORY, os.W_OK):
            return MEMORY
    return None


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server for the whole session."""
    with ExitStack() as stack:
        url = os.environ.get(_SERVER)
        if url is None:
            directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="oddish-pg-", dir=quick_directory()))
            url = stack.enter_context(EmbeddedPostgres(Path(directory), durable=False)).url("postgres")
        yield Postgres(url)


@pytest.fixture(scope="session")
def migrated_template(postgres: Postgres, worker_name: str) -> Iterator[str]:
    """The name of a migrated database that is only ever copied."""
    name = f"oddish_template_{os.getpid()}_{worker_name}"
    migration.upgrade(postgres.create(name))
    yield name
    postgres.drop(name)


@pytest.fixture(scope="session")
def new_database(postgres: Postgres, migrated_template: str) -> Iterator[Callable[[], str]]:
    """Makes migrated databases, for a module or session that wants more than one or keeps one longer."""
    numbers = itertools.count(1)
    made: list[str] = []

    def create() -> str:
        made.append(f"{migrated_template}_{next(numbers)}")
        return postgres.create(made[-1], template=migrated_template)

    yield create
    for name in made:
        postgres.drop(name)


@pytest.fixture
def database_url(postgres: Postgres, migrated_template: str) -> Iterator[str]:
    """A fresh migrated database of this test's own, as a ``postgresql+psycopg://`` URL."""
    name = f"{migrated_template}_test"
    url = postgres.create(name, template=migrated_template)
    yield url
    postgres.drop(name)
