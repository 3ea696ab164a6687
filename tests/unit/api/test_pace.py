"""Bodies that stop arriving. The clock of these tests goes to the next timer at once."""

import asyncio
import selectors
from collections.abc import Sequence
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send

from oddish.api.security import BodyPace

PAUSE = 60.0
SCOPE: dict[str, Any] = {"type": "http", "method": "POST", "path": "/"}


class Clock(selectors.DefaultSelector):
    """Waits by moving on."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += timeout or 0.0
        return super().select(0)


class Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.clock = Clock()
        super().__init__(self.clock)

    def time(self) -> float:
        return self.clock.now


class Client:
    """Sends pieces of a body, each after some seconds, the last one then followed by nothing."""

    def __init__(self, pieces: Sequence[float], *, whole: bool) -> None:
        self._left = [*pieces]
        self._whole = whole

    async def receive(self) -> Message:
        if not self._left:
            await asyncio.Event().wait()
        await asyncio.sleep(self._left.pop(0))
        return {"type": "http.request", "body": b"x", "more_body": bool(self._left) or not self._whole}


async def reading(scope: Scope, receive: Receive, send: Send) -> None:
    while (await receive())["more_body"]:
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})


async def streaming(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers for an hour, looking out for the end of the connection meanwhile."""

    async def watch() -> None:
        while True:
            await receive()

    watching = asyncio.create_task(watch())
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await asyncio.sleep(3600)
    assert not watching.done()
    watching.cancel()


def serve(app: Any, client: Client) -> tuple[list[int], float]:
    """The statuses sent, and how long it took by the clock."""
    statuses: list[int] = []

    async def send(message: Message) -> None:
        statuses.append(message["status"])

    async def serve() -> float:
        await BodyPace(app, pause=PAUSE)(SCOPE, client.receive, send)
        return asyncio.get_running_loop().time()

    with asyncio.Runner(loop_factory=Loop) as runner:
        return statuses, runner.run(serve())


def test_a_slow_body_may_take_as_long_as_it_keeps_arriving() -> None:
    statuses, seconds = serve(reading, Client([PAUSE - 1] * 20, whole=True))
    assert statuses == [200]
    assert seconds == pytest.approx(20 * (PAUSE - 1))


@pytest.mark.parametrize("pieces", [[], [0.0], [PAUSE - 1, PAUSE - 1], [0.0, PAUSE + 1]])
def test_a_body_that_stops_ends_the_request_and_its_connection(pieces: list[float]) -> None:
    with pytest.raises(HTTPException, match="60 seconds") as refused:
        serve(reading, Client(pieces, whole=False))
    assert (refused.value.status_code, refused.value.headers) == (408, {"Connection": "close"})


@pytest.mark.parametrize("client", [Client([], whole=False), Client([0.0], whole=False)])
def test_an_answer_that_has_begun_is_not_ended(client: Client) -> None:
    statuses, seconds = serve(streaming, client)
    assert statuses == [200]
    assert seconds == pytest.approx(3600)
