"""Servers that are told to stop while somebody is connected."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator

import httpx2
import pytest
import uvicorn

from oddish.api.app import create_app
from oddish.api.process import DrainingServer
from oddish.listening import listen
from oddish.settings import Settings
from support.waiting import until

from .following import running_trial
from .serving import KEY, Server, TaskFolder

pytestmark = pytest.mark.anyio

BUFFER_BYTES = 4096
HEADERS = f"HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {KEY}\r\n"


class Stopping(DrainingServer):
    """Serves in the loop of a test, and stops in the turn in which it is told to. It waits a second for answers."""

    def __init__(self, settings: Settings) -> None:
        app = create_app(settings)
        config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=1, lifespan="on")
        super().__init__(config, app.state.services, 0)
        self._services = app.state.services
        self._told = asyncio.Event()
        self._listener = listen("127.0.0.1", 0)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
        self.address = self._listener.getsockname()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self._told.wait()

    async def begin(self) -> None:
        await self._services.prepare()
        self._serving = asyncio.create_task(self.serve(sockets=[self._listener]))
        await until(lambda: self.started)

    async def stop(self) -> None:
        self._told.set()
        await self._serving


@pytest.fixture
async def stopping(settings: Settings) -> AsyncIterator[Stopping]:
    server = Stopping(settings)
    await server.begin()
    yield server
    await server.stop()


@pytest.fixture
def connection() -> Iterator[socket.socket]:
    """Of a client that reads little; not connected yet."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        connection.settimeout(10)
        yield connection


def rest(connection: socket.socket) -> bytes:
    """All that is still to be read until its end."""
    return b"".join(iter(lambda: connection.recv(BUFFER_BYTES), b""))


@pytest.mark.parametrize("turns", range(6))
async def test_a_connection_made_at_any_moment_before_a_server_stops_is_closed(
    stopping: Stopping, connection: socket.socket, turns: int
) -> None:
    connection.connect(stopping.address)
    for _ in range(turns):
        await asyncio.sleep(0)
    await stopping.stop()
    try:
        assert rest(connection) == b""
    except ConnectionResetError:
        assert not stopping.server_state.connections


async def test_a_request_that_a_server_cannot_wait_for_when_it_stops_is_to_be_sent_again(
    stopping: Stopping, connection: socket.socket, caplog: pytest.LogCaptureFixture
) -> None:
    connection.connect(stopping.address)
    connection.sendall(f"POST /tasks/sweep {HEADERS}Content-Length: 100\r\n\r\n".encode())
    await until(lambda: stopping.server_state.tasks)
    await stopping.stop()
    head, _, body = rest(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 ")
    assert json.loads(body)["code"] == "unavailable"
    assert "Traceback" not in caplog.text


async def test_a_follower_that_reads_nothing_is_cut_off_by_a_server_that_stops(
    server: Server,
    client: httpx2.Client,
    new_task: Callable[..., TaskFolder],
    stopping: Stopping,
    connection: socket.socket,
    caplog: pytest.LogCaptureFixture,
) -> None:
    trial = running_trial(server, client, new_task)
    trial.begin()
    trial.says(*["x" * 2000] * 200)
    connection.connect(stopping.address)
    connection.sendall(f"GET /trials/{trial.trial_id}/live {HEADERS}Accept: text/event-stream\r\n\r\n".encode())
    await until(lambda: any(protocol.flow.write_paused for protocol in stopping.server_state.connections))
    await stopping.stop()
    assert "Cancel 1 running task" in caplog.text
    assert "Traceback" not in caplog.text
