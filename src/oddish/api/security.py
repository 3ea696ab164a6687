"""Limits of every request to the API, whatever its route, and the hosts it may name."""

import asyncio
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oddish.api.sites import EXPORTED
from oddish.errors import TooLarge
from oddish.serving.refusals import refusal
from oddish.serving.security import LOOPBACK
from oddish.settings import Settings

OTHER_HOSTS = "Call it as 127.0.0.1 or localhost, or set ODDISH_PUBLIC_URL to the address it is called by."
"""What to do where the host of a request is none of those allowed."""

STREAMED = ("/store/", f"{EXPORTED}/")
"""Beginnings of paths whose bodies are files: they have limits of their own."""


def allowed_hosts(settings: Settings) -> frozenset[str] | None:
    """The host names a server answers to, or None for any: a name that resolves to the loopback is not trusted."""
    if settings.host not in LOOPBACK and settings.deployment != "local":
        return None
    public = urlsplit(settings.public_url).hostname
    return LOOPBACK | {public} if public else LOOPBACK


class BodyLimit:
    """Refuses request bodies above a limit, announced or not, before they are held in memory."""

    def __init__(self, app: ASGIApp, *, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].startswith(STREAMED):
            await self._app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "")
        if announced.isdecimal() and int(announced) > self._limit:
            await self._refusal()(scope, receive, send)
            return
        received = 0

        async def limited() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._limit:
                raise HTTPException(413, self._detail)
            return message

        await self._app(scope, limited, send)

    @property
    def _detail(self) -> str:
        return f"The request body is larger than {self._limit} bytes."

    def _refusal(self) -> ASGIApp:
        return refusal(TooLarge(self._detail, fix="Send less at once; files go to the signed upload URL."))


class BodyPace:
    """Ends a request of whose body nothing arrives for ``pause`` seconds, and its connection.

    What is received once the answer has begun is the end of the connection, however long that takes.
    """

    def __init__(self, app: ASGIApp, *, pause: float) -> None:
        self._app = app
        self._pause = pause

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        whole = answering = False

        async def paced() -> Message:
            nonlocal whole
            if not (whole or answering):
                try:
                    async with asyncio.timeout(self._pause):
                        message = await receive()
                except TimeoutError:
                    if not answering:
                        raise self._refusal() from None
                else:
                    whole = not message.get("more_body", False)
                    return message
            return await receive()

        async def noted(message: Message) -> None:
            nonlocal answering
            answering = True
            await send(message)

        await self._app(scope, paced, noted)

    def _refusal(self) -> HTTPException:
        detail = f"Nothing more of the request body came for {self._pause:g} seconds."
        return HTTPException(408, detail, headers={"Connection": "close"})
