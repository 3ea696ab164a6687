"""What callbacks are sent: an event, the files of a job or its document."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from pydantic_core import to_json
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.gateway.artifacts import archive
from oddish.gateway.deliveries import Due
from oddish.gateway.document import job_document
from oddish.gateway.events import Event, with_outcomes
from oddish.gateway.jobs import read
from oddish.gateway.sending import Message
from oddish.gateway.trials import find_trials, with_records
from oddish.storage.store import ArtifactStore

POST_SECONDS = 30.0
UPLOAD_SECONDS = 1800.0


async def compose(due: Due, database: AsyncEngine, store: ArtifactStore) -> Message:
    """Raises ``NotFound`` and ``TooLarge`` as ``archive`` does, and the errors of the store."""
    match due.kind:
        case "notifications":
            return _json(due, to_json(await _event(due, database)))
        case "deliver":
            return await _files(due, database, store)
        case "writeback":
            return _json(due, await _document(due, database, store))


async def _event(due: Due, database: AsyncEngine) -> dict[str, Any]:
    """As those are told of it who follow the job."""
    async with database.connect() as connection:
        [event] = await with_outcomes(connection, due.job_id, [Event(due.event_seq, due.event, due.data)])
    return {"type": due.event, "timestamp": due.created_at, "seq": due.event_seq, "data": event.data}


async def _files(due: Due, database: AsyncEngine, store: ArtifactStore) -> Message:
    packed = await archive(database, store, due.job_id)
    return Message(
        due.message_id, "PUT", "application/zip", packed.size, lambda: store.stream(packed.key), UPLOAD_SECONDS
    )


async def _document(due: Due, database: AsyncEngine, store: ArtifactStore) -> bytes:
    """As the job's own route tells it."""
    async with database.connect() as connection:
        job = await read(connection, due.job_id)
        found = await find_trials(connection, due.job_id)
    document = job_document(job, await with_records(store, found))
    return await asyncio.to_thread(to_json, document)


def _json(due: Due, body: bytes) -> Message:
    async def content() -> AsyncIterator[bytes]:
        yield body

    return Message(due.message_id, "POST", "application/json", len(body), content, POST_SECONDS)
