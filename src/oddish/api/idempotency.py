"""Answering a call once, however often it is sent: what every POST route does with an ``Idempotency-Key``.

A route takes a ``RepeatableOf``, makes its rows within ``Once.transaction`` and keeps its answer there.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from fastapi import Depends, Header
from fastapi.routing import APIRoute
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response

from oddish.api.authentication import PrincipalOf
from oddish.api.services import Services, ServicesOf
from oddish.errors import InvalidInput
from oddish.identity.idempotency import Call, InProgress, Overtaken, Record, begin, find, keep

REPLAYED = "Idempotency-Replayed"
ATTEMPTS = 5


class AnswerNotKept(RuntimeError):
    """A route has answered a call that has a key without keeping the answer."""


@dataclass
class Once:
    """One run of a call. Without a key it is an ordinary transaction and nothing is kept."""

    services: Services
    call: Call | None
    instead_of: Record | None = None
    kept: bool = False

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """Where the rows of the answer are made, and the answer kept: all of it or nothing."""
        async with self.services.engine.begin() as connection:
            if self.call is not None:
                retention = timedelta(days=self.services.settings.idempotency_retention_days)
                await begin(connection, self.call, instead_of=self.instead_of, retention=retention)
            yield connection
            self.check()

    async def keep(
        self, connection: AsyncConnection, answer: BaseModel, *, valid_for: timedelta | None = None
    ) -> bytes:
        """The answer as it is sent, now and whenever the call is repeated within ``valid_for``."""
        document = answer.model_dump_json().encode()
        if self.call is not None:
            await keep(connection, self.services.keyring, self.call, document, valid_for=valid_for)
            self.kept = True
        return document

    def check(self) -> None:
        if self.call is not None and not self.kept:
            raise AnswerNotKept(self.call.route)


type Work = Callable[[Once], Awaitable[bytes]]
type Stands = Callable[[AsyncConnection, bytes], Awaitable[bool]]


async def _always(connection: AsyncConnection, answer: bytes) -> bool:
    return True


@dataclass(frozen=True)
class Answer:
    document: bytes
    replayed: bool

    def response(self, status_code: int = 200) -> Response:
        headers = {REPLAYED: "true"} if self.replayed else None
        return Response(self.document, status_code, media_type="application/json", headers=headers)


@dataclass(frozen=True)
class Repeatable:
    """A call, with the key if its caller named one."""

    services: Services
    call: Call | None

    async def run(self, work: Work, *, stands: Stands = _always) -> Answer:
        """What ``work`` answers, or has answered before.

        An answer that is kept is given again while it ``stands``; afterwards the call is carried out anew and its
        record replaced. Raises ``KeyReused``, ``InProgress`` and whatever ``work`` refuses.
        """
        if self.call is None:
            return Answer(await work(Once(self.services, None)), replayed=False)
        for _ in range(ATTEMPTS):
            async with self.services.reads.connect() as connection:
                record = await find(connection, self.services.keyring, self.call)
                if record is not None and await stands(connection, record.answer):
                    return Answer(record.answer, replayed=True)
            once = Once(self.services, self.call, record)
            try:
                document = await work(once)
            except Overtaken:
                continue
            once.check()
            return Answer(document, replayed=False)
        raise InProgress(
            "Other calls with this Idempotency-Key were carried out meanwhile.", fix="Send the request again."
        )

    async def answer(self, work: Work) -> Response:
        """As ``run``, ready to be sent."""
        return (await self.run(work)).response()

    def part(self, index: int, body: bytes) -> "Repeatable":
        """An element of a batch, repeatable by itself."""
        return Repeatable(self.services, None if self.call is None else self.call.part(index, body))


async def repeatable_of(
    request: Request,
    principal: PrincipalOf,
    services: ServicesOf,
    idempotency_key: Annotated[
        str | None,
        Header(description="1 to 255 visible ASCII characters. A repetition with the same key is answered the same."),
    ] = None,
) -> Repeatable:
    if idempotency_key is None:
        return Repeatable(services, None)
    if len(request.headers.getlist("idempotency-key")) > 1:
        raise InvalidInput("The request has more than one Idempotency-Key.", fix="Send one.")
    route = f"{request.method} {request.scope['route'].path}"
    target = f"{request.url.path}?{request.url.query}"
    body = await request.body()
    return Repeatable(services, Call.of(principal, route, idempotency_key, target=target, body=body))


type RepeatableOf = Annotated[Repeatable, Depends(repeatable_of)]


def is_repeatable(route: APIRoute) -> bool:
    return any(dependency.call is repeatable_of for dependency in route.dependant.dependencies)
