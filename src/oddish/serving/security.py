"""Checks and headers that apply to every request, whatever its route."""

from collections.abc import Iterable, Mapping
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oddish.serving.excerpt import excerpt
from oddish.serving.refusals import ForeignOrigin, Misdirected, refusal

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
MUTATIONS = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_ASKED = "oddish.asked"

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}


class HostCheck:
    """Refuses names that a page elsewhere could have pointed at this machine, and what is no name at all."""

    def __init__(self, app: ASGIApp, *, allowed: Iterable[str] | None, fix: str) -> None:
        self._app = app
        self._allowed = None if allowed is None else frozenset(allowed)
        self._fix = fix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            host = Headers(scope=scope).get("host", "")
            if not self._answers_for(host):
                said = f"This server does not answer for the host {excerpt(host)!r}."
                error = Misdirected(said, fix=self._fix)
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

    def __init__(self, app: ASGIApp, *, public_url: str = "") -> None:
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

    def __init__(self, app: ASGIApp, *, headers: Mapping[str, str] = HEADERS) -> None:
        self._app = app
        self._headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, with_headers if scope["type"] == "http" else send)


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

        inner = {**scope, "method": "GET", _ASKED: "HEAD"}
        await self._app(inner, receive, headers_only)
        scope["route"] = inner.get("route")


def asks_for_head(request: Request) -> bool:
    """Whether the answer to what looks like a GET is for a look at its headers: a check of a link, say."""
    return request.scope.get(_ASKED) == "HEAD"


def _split(url: str) -> SplitResult:
    """The parts of ``url``, all of them empty when it cannot be one."""
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", "", "", "")
