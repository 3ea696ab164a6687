"""What tests with real trials share."""

from collections.abc import AsyncIterator, Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from oddish.db.engine import connect
from oddish.keyring import load_keyring
from oddish.settings import Settings
from oddish.storage.store import ArtifactStore
from support.deployments import Deployment

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module", autouse=True)
def no_engine() -> Iterator[None]:
    """Trials run in the local sandbox, whatever engine this machine has: that is for tests/docker."""
    with pytest.MonkeyPatch.context() as machine:
        machine.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
        yield


@pytest.fixture
def examples() -> Path:
    return EXAMPLES


@pytest.fixture
async def deployment(database_url: str, oddish_home: Path) -> AsyncIterator[Deployment]:
    settings = Settings(home=oddish_home, database_url=database_url, heartbeat_seconds=1, lease_seconds=12)
    database = connect(database_url, role="test")
    deployment = Deployment(
        settings=settings,
        database=database,
        store=ArtifactStore.open(settings.storage_url),
        keyring=load_keyring(None, oddish_home),
        engine_name=f"harbor/{version('harbor')}",
    )
    await deployment.prepare()
    yield deployment
    await database.dispose()


@pytest.fixture
def make_task(tmp_path: Path) -> Callable[..., Path]:
    """Writes a task whose oracle runs ``solve`` and whose verifier runs ``test``."""

    def make(name: str, *, solve: str, test: str = "echo 1 > /logs/verifier/reward.txt") -> Path:
        directory = tmp_path / "tasks" / name
        files = {
            "task.toml": 'schema_version = "1.4"\n[agent]\ntimeout_sec = 300\n[verifier]\ntimeout_sec = 60\n',
            "instruction.md": "Do it.\n",
            "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\n",
            "solution/solve.sh": f"#!/bin/sh\n{solve}\n",
            "tests/test.sh": f"#!/bin/sh\n{test}\n",
        }
        for path, content in files.items():
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_text(content)
        return directory

    return make


@pytest.fixture
def slow_task(make_task: Callable[..., Path]) -> Path:
    return make_task("slow", solve="sleep 300")


@pytest.fixture
def leaking_task(make_task: Callable[..., Path]) -> Path:
    """Its oracle prints a secret, keeps it as an artifact, and proves that it had it."""
    return make_task(
        "leaking",
        solve='echo "$SERVICE_TOKEN"; mkdir -p /logs/artifacts; echo "$SERVICE_TOKEN" > /logs/artifacts/leak.txt',
        test="grep -q correct-horse /logs/artifacts/leak.txt && echo 1 > /logs/verifier/reward.txt",
    )
