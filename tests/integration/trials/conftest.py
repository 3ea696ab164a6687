"""A deployment with one worker that does nothing by itself."""

from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.keyring import load_keyring
from oddish.queue.lease import Worker, register
from oddish.settings import Settings
from oddish.storage.store import ArtifactStore
from support.deployments import Deployment

ENGINE = "harbor/test"


@pytest.fixture
async def deployment(engine: AsyncEngine, oddish_home: Path, database_url: str) -> Deployment:
    settings = Settings(home=oddish_home, database_url=database_url)
    store = ArtifactStore.open(settings.storage_url)
    deployment = Deployment(settings, engine, store, load_keyring(None, oddish_home), ENGINE)
    await deployment.prepare()
    async with engine.begin() as connection:
        worker = Worker("w", "host", 1, "0", [f"local@{ENGINE}"], cpus=2, memory_mb=4096, concurrency=4)
        await register(connection, worker, [], lease_seconds=600)
    return deployment
