"""The heartbeat renews, tells what is owned, and fences its worker in time."""

import asyncio
import threading
from collections.abc import Sequence

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.queue.keys import Limits
from oddish.queue.lease import Owned
from oddish.settings import Settings
from oddish.worker.heartbeat import Heartbeat
from support.queues import ORG, Queue
from support.waiting import until

pytestmark = pytest.mark.anyio


class Observed:
    """A heartbeat of worker ``w`` and what it said."""

    def __init__(self, settings: Settings) -> None:
        self.now = 0.0
        self.beats: list[Sequence[Owned]] = []
        self.beaten = threading.Event()
        self.reason: str | None = None
        self.fenced = threading.Event()
        self.declines: str | None = None
        self.heartbeat = Heartbeat(
            settings,
            "w",
            on_beat=self._on_beat,
            on_fenced=self._on_fenced,
            declines=lambda: self.declines,
            clock=lambda: self.now,
        )

    def _on_beat(self, mine: Sequence[Owned]) -> None:
        self.beats.append(mine)
        self.beaten.set()

    def _on_fenced(self, reason: str) -> None:
        self.reason = reason
        self.fenced.set()

    async def next_beat(self) -> Sequence[Owned]:
        self.beaten.clear()
        self.heartbeat.nudge()
        assert await asyncio.to_thread(self.beaten.wait, 10)
        return self.beats[-1]


@pytest.fixture
async def queue(engine: AsyncEngine) -> Queue:
    queue = Queue(engine, Limits(8, 256, {}))
    await queue.execute("INSERT INTO organisations (id, name) VALUES (:id, :id)", id=ORG)
    await queue.worker("w")
    return queue


@pytest.fixture
def observed(queue: Queue, database_url: str):
    observed = Observed(Settings(database_url=database_url, heartbeat_seconds=2, lease_seconds=30))
    observed.heartbeat.start()
    yield observed
    observed.heartbeat.stop()


async def test_it_renews_and_says_what_is_owned_and_what_should_end(queue: Queue, observed: Observed) -> None:
    assert await observed.next_beat() == []
    await queue.add("a", "b")
    held = [*await queue.claim(slots=1), *await queue.claim(slots=1)]
    await queue.cancel("b")
    mine = await observed.next_beat()
    assert {(entry.id, entry.epoch, entry.cancel_requested) for entry in mine} == {
        (held[0].id, 1, False),
        (held[1].id, 1, True),
    }
    [(left,)] = await queue.rows("SELECT extract(epoch FROM lease_until - now())::float FROM workers")
    assert left > 25
    assert not observed.fenced.is_set()


async def test_it_keeps_why_the_worker_claims_nothing(queue: Queue, observed: Observed) -> None:
    async def kept(reason: str | None) -> bool:
        observed.heartbeat.nudge()
        return await queue.rows("SELECT declines FROM workers") == [(reason,)]

    for reason in ("is about to end", None):
        observed.declines = reason
        await until(lambda reason=reason: kept(reason), 10)


async def test_a_lease_that_has_ended_is_not_renewed(queue: Queue, observed: Observed) -> None:
    await observed.next_beat()
    await queue.execute("UPDATE workers SET lease_until = now() - interval '1 second'")
    observed.heartbeat.nudge()
    assert await asyncio.to_thread(observed.fenced.wait, 10)
    assert observed.reason == "its lease had ended"
    assert await queue.rows("SELECT lease_until > now() FROM workers") == [(False,)]


async def test_who_cannot_renew_stops_before_the_lease_ends() -> None:
    nowhere = "postgresql+psycopg://nobody@127.0.0.1:1/none?connect_timeout=1"
    observed = Observed(Settings(database_url=nowhere, heartbeat_seconds=2, lease_seconds=30))
    observed.now = 24.0
    observed.heartbeat.lease.renewed(asked_at=0)
    observed.heartbeat.start()
    assert not await asyncio.to_thread(observed.fenced.wait, 1)
    observed.now = 25.0
    observed.heartbeat.nudge()
    assert await asyncio.to_thread(observed.fenced.wait, 10)
    assert observed.reason == "its lease could not be renewed in time"
    observed.heartbeat.stop()
