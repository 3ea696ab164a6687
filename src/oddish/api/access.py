"""The outermost layer: one log line a request, and an answer whatever happens inside."""

import asyncio
import time

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oddish.api.metrics import count_request
from oddish.api.paths import loggable
from oddish.api.problems import failure
from oddish.correlation import CURRENT, HEADER, correlation_id
from oddish.errors import Unavailable
from oddish.identity.principal import Principal
from oddish.serving.excerpt import excerpt
from oddish.serving.refusals import refusal

QUIET = frozenset({"/health", "/health/live", "/health/ready", "/metrics"})
CLIENT_LEFT = 499
"""Logged when the client closed the connection before its request was whole."""
ENDING = "The server ends before it has an answer."

log = structlog.get_logger()


class AccessLog:
    """Query strings and the tokens of share links are never logged: they are credentials.

    Every line that is logged meanwhile has the ``correlation_id`` of the request, and so have its answer and the trials
    that it makes.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        correlation = correlation_id(Headers(scope=scope))
        asked = CURRENT.set(correlation)
        try:
            with structlog.contextvars.bound_contextvars(correlation_id=correlation):
                await self._answer(scope, receive, send, correlation)
        finally:
            CURRENT.reset(asked)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, correlation: str) -> None:
        started = time.perf_counter()
        status: int | None = None

        async def observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[HEADER] = correlation
            await send(message)

        try:
            await self._app(scope, receive, observed)
        except ClientDisconnect:
            status = status or CLIENT_LEFT
        except asyncio.CancelledError:  # by the server, which ends and has waited for the answer as long as it does
            if status is None:
                await refusal(Unavailable(ENDING, fix="Send the request again."))(scope, receive, observed)
        except Exception as error:  # noqa: BLE001 - the last line of defence
            response = failure(error, Request(scope))
            if status is None:
                await response(scope, receive, observed)
        seconds = time.perf_counter() - started
        count_request(scope, status, seconds)
        if scope["path"] in QUIET:
            return
        principal = scope.get("state", {}).get("principal")
        log.info(
            "request",
            method=excerpt(scope["method"]),
            path=loggable(scope["path"]),
            status=status,
            ms=round(seconds * 1000, 1),
            key=principal.key_id if isinstance(principal, Principal) else None,
        )
