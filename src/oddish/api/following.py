"""A trial that is followed, as server-sent events: its transcript, its state, its end."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any

import structlog
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.api.eventstream import HEARTBEAT, HEARTBEAT_SECONDS, RECONNECT, frame
from oddish.api.feeds import Feed, Feeds
from oddish.errors import OddishError
from oddish.schemas.live import LiveEvent, LiveState
from oddish.trials.audience import Audience
from oddish.trials.following import LivePage, Place, Standing, glance

STREAM_SECONDS = 900.0
"""After which a follower has to come again, with a key that is still good."""
CHUNK_CHARACTERS = 64 * 1024

log = structlog.get_logger()


@dataclass(frozen=True)
class Followed:
    """A trial as some may see it."""

    trial_id: str
    seen_by: str
    """Whoever is equal in this sees the same."""
    read: Callable[[Place], Coroutine[Any, Any, LivePage]]


@dataclass(frozen=True)
class Told:
    """A page, and its events as they are sent, worked out once for all who are at the same place."""

    page: LivePage
    chunks: list[str]
    state: str


async def states(reads: AsyncEngine, audience: Audience, trial_ids: Collection[str]) -> dict[str, str]:
    """What those are told who follow these trials, without the events; nothing of those that are deleted."""
    async with reads.connect() as connection:
        found = await glance(connection, trial_ids, audience)
    return {trial_id: _state(standing) for trial_id, standing in found.items()}


async def follow(feeds: Feeds[Told], followed: Followed, place: Place) -> AsyncGenerator[str]:
    """Frames from ``place`` to the end of the trial, or as long as one connection may take."""
    ends = time.monotonic() + STREAM_SECONDS
    said, attempt, state = time.monotonic(), 0, ""
    async with feeds.follow(followed.trial_id) as feed:
        yield RECONNECT
        while not feeds.ended and time.monotonic() < ends:
            changes = feed.changes
            told = await _told(feed, followed, place)
            if told is None:
                return
            news = told.chunks if told.state == state else _with_state(told, first=told.page.attempt != attempt)
            for chunk in news:
                yield chunk
            place, attempt, state = told.page.place, told.page.attempt, told.state
            if told.page.last:
                yield frame({}, event="end")
                return
            if news:
                said = time.monotonic()
            elif time.monotonic() - said >= HEARTBEAT_SECONDS:
                yield HEARTBEAT
                said = time.monotonic()
            if not (told.page.full or told.page.done):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(said + HEARTBEAT_SECONDS - time.monotonic()):
                        await feed.changed(changes, seen=state)


def _with_state(told: Told, *, first: bool) -> list[str]:
    """A new attempt is announced; otherwise the state is what things came to by the events."""
    return [told.state, *told.chunks] if first else [*told.chunks, told.state]


async def _told(feed: Feed[Told], followed: Followed, place: Place) -> Told | None:
    """None where nothing can be read any more: whoever comes again is told why."""

    async def read() -> Told:
        page = await followed.read(place)
        return Told(page, list(_chunks(page)), _state(page))

    try:
        return await feed.read((followed.seen_by, place), read)
    except OddishError:
        return None
    except SQLAlchemyError as error:
        log.warning("trial not followed", trial=followed.trial_id, error=str(error.__cause__ or error))
        return None


def _chunks(page: LivePage) -> Iterator[str]:
    """The events, as many at once as make a chunk."""
    chunk, size = list[str](), 0
    for event in page.events:
        document = {"attempt": page.attempt} | _document(LiveEvent.model_validate(event))
        chunk.append(frame(document, place=f"{page.attempt}:{event.seq}"))
        size += len(chunk[-1])
        if size >= CHUNK_CHARACTERS:
            yield "".join(chunk)
            chunk, size = [], 0
    if chunk:
        yield "".join(chunk)


def _state(standing: Standing) -> str:
    return frame(_document(LiveState.model_validate(standing)), event="state")


def _document(body: LiveEvent | LiveState) -> dict[str, object]:
    return body.model_dump(mode="json")
