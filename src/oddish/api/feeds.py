"""Those who follow trials, or jobs of the gateway: woken by the database, one connection for all, reading together."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Hashable, Mapping
from typing import Any, LiteralString

import psycopg
from sqlalchemy.exc import SQLAlchemyError

from oddish.db.notices import notices
from oddish.db.url import plain

MOST_FOLLOWERS = 1000
"""Of one server, so that there is room for those who ask for something else."""
TICK_SECONDS = 5.0
"""How often everything that is followed is looked at, whether or not there was a word of it."""
RETRY_SECONDS = 1.0

type Glance = Callable[[Collection[str]], Awaitable[Mapping[str, Hashable]]]
"""How things are of all that is followed, in one look: equal to what their followers have seen, or not."""


class Feed[Found]:
    """What somebody follows. Those who read the same after the same change share one reading."""

    def __init__(self) -> None:
        self.changes = 0
        self.followers = 0
        self._waiting: dict[asyncio.Event, Hashable] = {}
        self._readings: dict[Hashable, asyncio.Task[Found]] = {}

    def change(self) -> None:
        self._wake(self._waiting)

    def glance(self, found: Hashable) -> None:
        """It is a change where somebody waits who has seen something else, and nobody else is woken."""
        if others := [event for event, seen in self._waiting.items() if seen != found]:
            self._wake(others)

    def _wake(self, waiting: Collection[asyncio.Event]) -> None:
        self.changes += 1
        for event in waiting:
            event.set()

    async def changed(self, since: int, *, seen: Hashable) -> None:
        """Returns when there have been more changes than ``since``, or when a glance finds other than was ``seen``."""
        if self.changes != since:
            return
        self._waiting[event := asyncio.Event()] = seen
        try:
            await event.wait()
        finally:
            del self._waiting[event]

    async def read(self, what: Hashable, read: Callable[[], Coroutine[Any, Any, Found]]) -> Found:
        """What a reading finds that began after the last change; ``what`` is equal where the same is read."""
        key = what, self.changes
        if (reading := self._readings.get(key)) is None:
            reading = self._readings[key] = asyncio.create_task(read())
            reading.add_done_callback(lambda _: self._readings.pop(key))
        return await asyncio.shield(reading)


class Feeds[Found]:
    """The feeds of one server by the ids that ``channel`` carries. It listens while there are any."""

    def __init__(self, database_url: str, channel: LiteralString, glance: Glance) -> None:
        self._url = plain(database_url)
        self._listen_statement = f"LISTEN {channel}"
        self._glance = glance
        self._feeds: dict[str, Feed[Found]] = {}
        self._listening: asyncio.Task[None] | None = None
        self.ended = False

    @property
    def followers(self) -> int:
        return sum(feed.followers for feed in self._feeds.values())

    @property
    def full(self) -> bool:
        return self.followers >= MOST_FOLLOWERS

    @contextlib.asynccontextmanager
    async def follow(self, subject_id: str) -> AsyncIterator[Feed[Found]]:
        feed = self._feeds.setdefault(subject_id, Feed())
        feed.followers += 1
        self._listening = self._listening or asyncio.create_task(self._listen())
        try:
            yield feed
        finally:
            feed.followers -= 1
            if not feed.followers:
                del self._feeds[subject_id]
            if not self._feeds:
                self._listening.cancel()
                self._listening = None

    def end(self) -> None:
        """Wakes all followers for the last time: the server is about to end."""
        self.ended = True
        self._change_all()

    def _change_all(self) -> None:
        for feed in self._feeds.values():
            feed.change()

    async def _listen(self) -> None:
        while True:
            with contextlib.suppress(psycopg.Error, OSError):
                async with await psycopg.AsyncConnection.connect(
                    self._url, autocommit=True, application_name="oddish-follow"
                ) as connection:
                    await connection.execute(self._listen_statement)
                    self._change_all()
                    while True:
                        async for notice in notices(connection, seconds=TICK_SECONDS):
                            if (feed := self._feeds.get(notice.payload)) is not None:
                                feed.change()
                        await self._look()
            self._change_all()
            await asyncio.sleep(RETRY_SECONDS)

    async def _look(self) -> None:
        """At all that is followed; what fails is tried again with the next tick."""
        followed = list(self._feeds)
        with contextlib.suppress(SQLAlchemyError):
            found = await self._glance(followed)
            for subject_id in followed:
                if (feed := self._feeds.get(subject_id)) is not None:
                    feed.glance(found.get(subject_id))
