"""HTTP without encryption by the standard library, which is there at once: a server on this machine is asked often."""

import http.client
import select
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import cast

import httpx2

IDLE_SECONDS = 4.0
"""For which a connection is kept: servers keep theirs a little longer."""
PIECE = 64 * 1024
_GONE = "the connection ended before the answer was complete"
_UNSENDABLE = "a header holds characters that HTTP has no place for"
"""Without them: the header may be the key."""


@dataclass(frozen=True)
class _Idle:
    connection: http.client.HTTPConnection
    since: float

    @property
    def usable(self) -> bool:
        """Nothing has come since: neither an end nor what nobody asked for."""
        if time.monotonic() - self.since > IDLE_SECONDS:
            return False
        poll = select.poll()
        poll.register(self.connection.sock, select.POLLIN)
        return not poll.poll(0)


class PlainTransport(httpx2.BaseTransport):
    """Keeps connections for later requests. Safe to share between threads."""

    def __init__(self) -> None:
        self._idle: dict[tuple[str, int], list[_Idle]] = {}
        self._lock = threading.Lock()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        place = request.url.raw_host.decode("ascii"), request.url.port or http.client.HTTP_PORT
        seconds = request.extensions.get("timeout", {})
        connection = self._kept(place) or _connected(place, seconds.get("connect"))
        try:
            connection.sock.settimeout(seconds.get("write"))
            _send(connection, request)
            connection.sock.settimeout(seconds.get("read"))
            with _translated(httpx2.ReadTimeout, httpx2.ReadError):
                answer = connection.getresponse()
        except BaseException:
            connection.close()
            raise
        return httpx2.Response(
            answer.status,
            headers=[(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.msg.raw_items()],
            stream=_Body(self, place, connection, answer),
            extensions={"http_version": b"HTTP/1.1", "reason_phrase": answer.reason.encode("latin-1")},
        )

    def close(self) -> None:
        with self._lock:
            kept, self._idle = self._idle, {}
        for entry in (entry for entries in kept.values() for entry in entries):
            entry.connection.close()

    def keep(self, place: tuple[str, int], connection: http.client.HTTPConnection) -> None:
        with self._lock:
            self._idle.setdefault(place, []).append(_Idle(connection, time.monotonic()))

    def _kept(self, place: tuple[str, int]) -> http.client.HTTPConnection | None:
        while True:
            with self._lock:
                entries = self._idle.get(place)
                entry = entries.pop() if entries else None
            if entry is None:
                return None
            if entry.usable:
                return entry.connection
            entry.connection.close()


class _Body(httpx2.SyncByteStream):
    """What remains of an answer. Its connection serves others once it has been read to its end."""

    def __init__(
        self,
        transport: PlainTransport,
        place: tuple[str, int],
        connection: http.client.HTTPConnection,
        answer: http.client.HTTPResponse,
    ) -> None:
        self._transport, self._place = transport, place
        self._connection, self._answer = connection, answer

    def __iter__(self) -> Iterator[bytes]:
        """Of an answer whose length nobody knows each piece as it comes: it may be one that goes on."""
        with _translated(httpx2.ReadTimeout, httpx2.ReadError):
            read = self._answer.read1 if self._answer.chunked else self._answer.read
            while piece := read(PIECE):
                yield piece
            if self._answer.length:
                raise http.client.IncompleteRead(b"", self._answer.length)

    def close(self) -> None:
        complete = self._answer.isclosed() and not self._answer.length
        if complete and self._connection.sock is not None:
            self._transport.keep(self._place, self._connection)
        else:
            self._answer.close()
            self._connection.close()


def _connected(place: tuple[str, int], seconds: float | None) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection(*place, timeout=seconds)
    with _translated(httpx2.ConnectTimeout, httpx2.ConnectError):
        connection.connect()
    return connection


def _send(connection: http.client.HTTPConnection, request: httpx2.Request) -> None:
    """A server that has heard enough answers and hangs up: its answer is worth more than the failure to go on."""
    chunked = "transfer-encoding" in request.headers
    stream = cast("Iterable[bytes]", request.stream)
    body = stream if chunked or "content-length" in request.headers else None
    target = request.url.raw_path.decode("ascii")
    with _translated(httpx2.WriteTimeout, httpx2.WriteError), suppress(BrokenPipeError, ConnectionResetError):
        connection.request(request.method, target, body, request.headers, encode_chunked=chunked)


@contextmanager
def _translated(late: type[httpx2.TimeoutException], failed: type[httpx2.NetworkError]) -> Iterator[None]:
    """The errors of the standard library as those that clients of transports know."""
    try:
        yield
    except TimeoutError as error:
        raise late(str(error)) from error
    except (http.client.RemoteDisconnected, http.client.IncompleteRead) as error:
        raise httpx2.RemoteProtocolError(_GONE) from error
    except http.client.InvalidURL as error:
        raise httpx2.LocalProtocolError(str(error)) from error
    except http.client.HTTPException as error:
        raise httpx2.RemoteProtocolError(f"{type(error).__name__}: {error}") from error
    except OSError as error:
        raise failed(str(error)) from error
    except ValueError:
        raise httpx2.LocalProtocolError(_UNSENDABLE) from None
