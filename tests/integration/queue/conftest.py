"""A queue with one organisation and one worker."""

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.queue.keys import Limits
from support.queues import ORG, Queue


@pytest.fixture
async def queue(engine: AsyncEngine) -> Queue:
    queue = Queue(engine, Limits(default=3, baseline=256, overrides={"p/one": 1}))
    await queue.execute("INSERT INTO organisations (id, name) VALUES (:id, :id)", id=ORG)
    await queue.worker("w")
    return queue
