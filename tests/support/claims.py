"""Claims of trials, for tests of what only their owner may write."""

from pathlib import Path

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.keyring import load_keyring
from oddish.queue.claim import Claim, claim
from oddish.queue.lease import Worker, register
from oddish.queue.schedule import promote
from oddish.settings import Settings
from oddish.storage.store import ArtifactStore
from support.deployments import Deployment

EXAMPLE = Path(__file__).parents[2] / "examples" / "hello-world"
ENGINE = "harbor/test"
WORKER = "w"


async def deployment_with_a_worker(engine: AsyncEngine, home: Path, database_url: str) -> Deployment:
    """Whose worker does nothing by itself."""
    settings = Settings(home=home, database_url=database_url)
    store = ArtifactStore.open(settings.storage_url)
    deployment = Deployment(settings, engine, store, load_keyring(None, home), ENGINE)
    await deployment.prepare()
    worker = Worker(WORKER, "host", 1, "0", [f"local@{ENGINE}"], cpus=2, memory_mb=4096, concurrency=4)
    async with engine.begin() as connection:
        await register(connection, worker, [], lease_seconds=600)
    return deployment


async def claimed(deployment: Deployment) -> Claim:
    """The next trial; one that waits for its time as well."""
    async with deployment.database.begin() as connection:
        await connection.execute(text("UPDATE jobs SET run_at = now() WHERE state = 'scheduled'"))
        await promote(connection)
    async with deployment.database.begin() as connection:
        [held] = await claim(connection, worker_id=WORKER, pools=[f"local@{ENGINE}"], slots=1, memory_mb=4096)
    return held
