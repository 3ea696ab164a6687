"""What a worker puts right and away once an hour."""

from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.queue.keys import Limits
from oddish.storage.store import ArtifactStore
from oddish.worker.upkeep import keep_up
from support.queues import ORG, Queue

pytestmark = pytest.mark.anyio

DAY = 24 * 3600.0


async def test_upkeep_repairs_counters_and_forgets_what_has_had_its_time(engine: AsyncEngine, tmp_path: Path) -> None:
    queue = Queue(engine, Limits(3, 256, {}))
    store = ArtifactStore.open(tmp_path.as_uri())
    await queue.execute("INSERT INTO organisations (id, name) VALUES (:id, :id)", id=ORG)
    await queue.worker("gone")
    await queue.add("old", user="absent")
    await queue.cancel("old")
    await queue.pass_time(DAY)
    await queue.archive()
    await queue.pass_time(30 * DAY)
    await queue.add("new", user="there")
    await queue.cancel("new")
    await queue.execute("UPDATE queue_keys SET running = 2")
    await keep_up(engine, store, finished_job_days=30)
    assert await queue.states() == {"new": "cancelled"}
    assert await queue.rows("SELECT lane FROM queue_lanes") == [("there",)]
    assert await queue.rows("SELECT id FROM workers") == []
    assert await queue.miscounted() == []
