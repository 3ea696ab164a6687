"""What tests on a real Docker engine share: a worker's deployment, tasks, and the proof that nothing stays behind."""

from collections.abc import AsyncIterator, Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from oddish.db.engine import connect
from oddish.keyring import load_keyring
from oddish.settings import Settings
from oddish.storage.store import ArtifactStore
from support.deployments import Deployment
from support.engine_state import OWN_NETWORK, EngineState, docker
from support.waiting import eventually

ROOT = Path(__file__).parents[2]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def nothing_stays_behind() -> Iterator[None]:
    before = EngineState.now()
    yield
    eventually(lambda: EngineState.now() == before, 10, pause=0.1)
    assert OWN_NETWORK not in docker("network", "ls", "--format", "{{.Name}}").split()


@pytest.fixture
def recorded_tasks() -> Path:
    """The tasks of which ``tests/data/harbor-jobs`` holds results of Harbor alone."""
    return ROOT / "tests" / "data" / "tasks"


@pytest.fixture
def examples() -> Path:
    return ROOT / "examples"


@pytest.fixture
async def deployment(database_url: str, oddish_home: Path) -> AsyncIterator[Deployment]:
    settings = Settings(
        home=oddish_home, database_url=database_url, heartbeat_seconds=1, lease_seconds=12, worker_concurrency=12
    )
    database = connect(database_url, role="test")
    deployment = Deployment(
        settings=settings,
        database=database,
        store=ArtifactStore.open(settings.storage_url),
        keyring=load_keyring(None, oddish_home),
        engine_name=f"harbor/{version('harbor')}",
        environment="docker",
    )
    await deployment.prepare()
    yield deployment
    await database.dispose()


@pytest.fixture
def make_task(tmp_path: Path) -> Callable[..., Path]:
    """Writes a task whose oracle runs ``solve`` and whose verifier runs ``test``; further files by path."""

    def make(
        name: str,
        *,
        solve: str = "true",
        test: str = "echo 1 > /logs/verifier/reward.txt",
        dockerfile: str = "FROM ubuntu:24.04\nWORKDIR /app\n",
        config: str = "",
        files: dict[str, str] | None = None,
    ) -> Path:
        directory = tmp_path / "tasks" / name
        content = {
            "task.toml": f'schema_version = "1.4"\n[verifier]\ntimeout_sec = 60\n{config}\n',
            "instruction.md": "Do it.\n",
            "environment/Dockerfile": dockerfile,
            "solution/solve.sh": f"#!/bin/bash\n{solve}\n",
            "tests/test.sh": f"#!/bin/bash\n{test}\n",
            **(files or {}),
        }
        for path, text in content.items():
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_text(text)
        return directory

    return make


@pytest.fixture
def base_image(tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """Makes an image with a file /marker, under the same name every time, for tasks to stand on."""
    name = "oddish-test-base:changing"
    directory = tmp_path / "base"
    directory.mkdir()

    def make(marker: str) -> str:
        (directory / "Dockerfile").write_text(f"FROM ubuntu:24.04\nRUN echo {marker} > /marker\n")
        docker("buildx", "build", "--load", "--tag", name, "--label", "oddish.test=base", str(directory))
        return name

    yield make
    docker("rmi", "--force", name)
    docker("image", "prune", "--force", "--filter", "label=oddish.test=base")
