"""Checks and headers that apply to every request, whatever its route."""

import asyncio
from collections.abc import Iterable
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oddish.api.excerpt import excerpt
from oddish.api.problems import ForeignOrigin, Misdirected, refusal
from oddish.api.services import LOOPBACK
from oddish.errors import TooLarge
from oddish.settings import Settings

MUTATIONS = frozenset({"POST", "PUT", "PATCH", "DELETE"})
STREAMED = "/store/"
"""Paths whose bodies are files: they have limits of their own."""

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}


def allowed_hosts(settings: Settings) -> frozenset[str] | None:
    """The host names a server answers to, or None for any: a name that resolves to the loopback is not trusted."""
    if settings.host not in LOOPBACK and settings.deployment != "local":
        return None
    public = urlsplit(settings.public_url).hostname
    return LOOPBACK | {public} if public else LOOPBACK


class HostCheck:
    """Refuses names that a page elsewhere could have pointed at this machine, and what is no name at all."""

    def __init__(self, app: ASGIApp, *, allowed: Iterable[str] | None) -> None:
        self._app = app
        self._allowed = None if allowed is None else frozenset(allowed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            host = Headers(scope=scope).get("host", "")
            if not self._answers_for(host):
                error = Misdirected(
                    f"This server does not answer for the host {excerpt(host)!r}.",
                    fix="Call it as 127.0.0.1 or localhost, or set ODDISH_PUBLIC_URL to the address it is called by.",
                )
                await refusal(error)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _answers_for(self, host: str) -> bool:
        name = _split(f"//{host}").hostname
        if self._allowed is None:
            return name is not None or not host
        return name in self._allowed


class OriginCheck:
    """Refuses changes that a page of another origin asks for in its visitor's name."""

    def __init__(self, app: ASGIApp, *, public_url: str) -> None:
        self._app = app
        self._public = urlsplit(public_url).netloc.lower()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] in MUTATIONS:
            headers = Headers(scope=scope)
            origin = headers.get("origin")
            own = {headers.get("host", "").lower(), self._public}
            if origin is not None and (_split(origin).netloc.lower() or None) not in own:
                error = ForeignOrigin(
                    f"A page of {excerpt(origin)} may not change anything here.",
                    fix="Send the request from a page of this server, or without a browser.",
                )
                await refusal(error)(scope, receive, send)
                return
        await self._app(scope, receive, send)


class SecurityHeaders:
    """Adds the headers that a route has not set itself."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, with_headers if scope["type"] == "http" else send)


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


class HeadAsGet:
    """Answers HEAD on every route as GET, without the body, and without making it where it is streamed."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def headers_only(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        inner = {**scope, "method": "GET"}
        await self._app(inner, receive, headers_only)
        scope["route"] = inner.get("route")


def _split(url: str) -> SplitResult:
    """The parts of ``url``, all of them empty when it cannot be one."""
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", "", "", "")
