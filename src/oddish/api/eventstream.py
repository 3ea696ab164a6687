"""Answers that go on: events as the server has them (WHATWG HTML, section 9.2, "server-sent events")."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator

from starlette.requests import ClientDisconnect, Request
from starlette.responses import StreamingResponse
from starlette.types import Message, Send

MEDIA_TYPE = "text/event-stream"
HEARTBEAT_SECONDS = 15.0
"""How long nothing is said at most, so that nobody in between takes the connection for dead."""
HEARTBEAT = ": \n\n"
RECONNECT = "retry: 1000\n\n"
"""How many milliseconds a follower that has lost the connection waits before it comes again."""
STALL_SECONDS = 60.0
"""How long a follower may leave what is sent to it unread."""
HEADERS = {"X-Accel-Buffering": "no"}
"""For proxies that would collect what is to be seen at once."""


def is_wanted(request: Request) -> bool:
    """Whether the caller asks for events rather than for a document."""
    return MEDIA_TYPE in request.headers.get("accept", "").lower()


def frame(data: object, *, event: str | None = None, place: str | None = None) -> str:
    """One event. ``place`` is what a follower that has lost the connection sends as ``Last-Event-ID``."""
    lines = [f"id: {place}"] if place is not None else []
    lines += [f"event: {event}"] if event is not None else []
    return "\n".join([*lines, f"data: {json.dumps(data, ensure_ascii=False)}", "", ""])


class EventStream(StreamingResponse):
    """Sends frames as they come. A follower that reads none of them for ``STALL_SECONDS`` is let go."""

    media_type = MEDIA_TYPE

    def __init__(self, frames: AsyncGenerator[str]) -> None:
        super().__init__(frames, headers=HEADERS)
        self._frames = frames

    async def stream_response(self, send: Send) -> None:
        async def patient(message: Message) -> None:
            try:
                async with asyncio.timeout(STALL_SECONDS):
                    await send(message)
            except TimeoutError:
                raise ClientDisconnect from None

        async with contextlib.aclosing(self._frames):
            await super().stream_response(patient)
