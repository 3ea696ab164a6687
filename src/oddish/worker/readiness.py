"""What a worker needs to run trials, as its readiness."""

from collections.abc import Callable

from sqlalchemy.ext.asyncio import AsyncEngine

from oddish import readiness
from oddish.engine.client import ForkServer
from oddish.readiness import Check, Readiness, Unready
from oddish.settings import Settings
from oddish.storage.store import ArtifactStore


def readiness_of_worker(
    settings: Settings, database: AsyncEngine, store: ArtifactStore, engine: ForkServer, lease: Callable[[], float]
) -> Readiness:
    """``lease`` tells how many seconds are left of it, 0 before it has begun."""

    async def engine_runs() -> str:
        if not engine.alive:
            raise Unready("does not run")
        return "runs"

    async def lease_is_valid() -> str:
        if lease() <= 0:
            raise Unready("is not valid")
        return "is valid"

    return Readiness(
        {
            "database": readiness.database(database),
            "store": readiness.store(store),
            "disk": readiness.disk(settings.home, "the state directory"),
            "engine": Check(engine_runs, readiness.FRESH_SECONDS),
            "lease": Check(lease_is_valid, readiness.FRESH_SECONDS),
        }
    )
