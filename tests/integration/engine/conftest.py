"""Real fork servers and tiny tasks for the environment of ``support.plain_environment``."""

import os
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from oddish.engine.client import ForkServer, curated_environment
from support.engine_kit import SUPPORT, MakeRun, MakeTask, new_run, write_task


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def server() -> AsyncIterator[ForkServer]:
    """One for the tests of a module that leave it as it is."""
    async with new_server() as server:
        yield server


@pytest.fixture
async def own_server() -> AsyncIterator[ForkServer]:
    async with new_server() as server:
        yield server


def new_server() -> ForkServer:
    source = {**os.environ, "PYTHONPATH": str(SUPPORT), "ODDISH_DATABASE_URL": "postgresql://secret"}
    return ForkServer(environ=curated_environment({"PYTHONPATH", "ODDISH_DATABASE_URL"}, source))


@pytest.fixture
def make_task(tmp_path: Path) -> MakeTask:
    return partial(write_task, tmp_path / "tasks")


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    return partial(new_run, tmp_path / "trials")
