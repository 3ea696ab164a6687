"""Jobs of the gateway as they go on: followed as server-sent events, or waited for."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Collection, Sequence

import structlog
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.api.eventstream import HEARTBEAT, HEARTBEAT_SECONDS, RECONNECT, frame
from oddish.api.feeds import Feeds
from oddish.api.following import STREAM_SECONDS
from oddish.gateway.events import LAST_EVENT, Event, events_after, last_events

log = structlog.get_logger()

type JobFeeds = Feeds[Sequence[Event]]


async def last_events_of(reads: AsyncEngine, job_ids: Collection[str]) -> dict[str, int]:
    """The last event of each job so far, by its number."""
    async with reads.connect() as connection:
        return await last_events(connection, job_ids)


async def follow_job(
    feeds: JobFeeds, reads: AsyncEngine, job_id: str, after: int, first: Sequence[Event] = ()
) -> AsyncGenerator[str]:
    """Frames of what comes after the event ``after``, to the last one or as long as one connection may take.

    ``first``: what comes next, where that was read already.
    """
    yield RECONNECT
    if first:
        yield _frames(first)
        if first[-1].event == LAST_EVENT:
            return
        after = first[-1].seq
    async with contextlib.aclosing(_news(feeds, reads, job_id, after, seconds=STREAM_SECONDS)) as following:
        async for news in following:
            yield _frames(news) or HEARTBEAT


def _frames(events: Sequence[Event]) -> str:
    return "".join(frame(event.data, event=event.event, place=str(event.seq)) for event in events)


async def wait_for_end(feeds: JobFeeds, reads: AsyncEngine, job_id: str, *, seconds: float) -> bool:
    """Whether the job has ended by then."""
    ended = False
    async with contextlib.aclosing(_news(feeds, reads, job_id, 0, seconds=seconds)) as following:
        async for news in following:
            ended = bool(news) and news[-1].event == LAST_EVENT
    return ended


async def _news(
    feeds: JobFeeds, reads: AsyncEngine, job_id: str, after: int, *, seconds: float
) -> AsyncGenerator[Sequence[Event]]:
    """What comes after the event ``after``, as it comes; nothing where nothing has come for a while."""
    ends = time.monotonic() + seconds
    async with feeds.follow(job_id) as feed:
        said = time.monotonic()
        while not feeds.ended:
            changes = feed.changes

            async def read(after: int = after) -> Sequence[Event]:
                async with reads.connect() as connection:
                    return await events_after(connection, job_id, after)

            try:
                news = await feed.read((job_id, after), read)
            except SQLAlchemyError as error:
                log.warning("job not followed", job=job_id, error=str(error.__cause__ or error))
                return
            if news or time.monotonic() - said >= HEARTBEAT_SECONDS:
                yield news
                said = time.monotonic()
            if news:
                after = news[-1].seq
                if news[-1].event == LAST_EVENT:
                    return
            elif (left := ends - time.monotonic()) <= 0:
                return
            else:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(min(said + HEARTBEAT_SECONDS - time.monotonic(), left)):
                        await feed.changed(changes, seen=after)
