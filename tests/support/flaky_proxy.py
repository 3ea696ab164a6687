"""A TCP proxy in front of a server, which cuts connections where a test says so."""

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

CHUNK = 65_536
RESET = struct.pack("ii", 1, 0)
"""For SO_LINGER: closing sends a reset instead of an orderly end."""


@dataclass
class Cut:
    """What happens to the next requests that begin with ``start``, for example ``b"PUT /store/"``.

    After ``request`` bytes of one, the connection is reset and the server never sees the rest; without that number, the
    server gets it whole and ``response`` bytes of its answer pass before the reset.
    """

    start: bytes
    request: int | None = None
    response: int = 0
    times: int = 1
    pause: float = 0.0
    """Seconds that each chunk of the request takes instead: a slow link, which is never cut."""
    done: threading.Event = field(default_factory=threading.Event, repr=False)
    """Set once it has happened ``times`` times."""


class FlakyProxy:
    """``with FlakyProxy(port) as proxy``: listens on ``proxy.port`` of the loopback and passes everything on.

    What is behind it is a port of the loopback or a Unix socket.
    """

    def __init__(self, upstream: int | Path) -> None:
        self.upstream = upstream
        self.heads: list[bytes] = []
        """The first lines and headers of the requests, in the order in which they came."""
        self._cuts: list[Cut] = []
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._listen()
        return self

    def __exit__(self, *_: object) -> None:
        self.go_down()
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive()

    def cut(self, wanted: Cut) -> Cut:
        """The cut that will happen, of which the one that is given is the pattern."""
        cut = replace(wanted, done=threading.Event())
        self._cuts.append(cut)
        return cut

    def go_down(self) -> None:
        """The server is away: open connections are reset, new ones refused."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._reset_all()

    def come_back(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._listen()

    def requests(self, start: bytes) -> list[bytes]:
        return [head for head in self.heads if head.startswith(start)]

    def _listen(self) -> None:
        listener = self._listener
        self.start(lambda: self._accept(listener))

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            try:
                server = _connected(self.upstream)
            except OSError:
                _reset(client)
                continue
            with self._lock:
                self._open |= {client, server}
            self.start(_Pair(self, client, server).requests)

    def start(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _reset_all(self) -> None:
        with self._lock:
            opened, self._open = self._open, set()
        for connection in opened:
            _reset(connection)

    def matching(self, head: bytes) -> Cut | None:
        """The cut that is meant for a request, which is used up by that."""
        with self._lock:
            self.heads.append(head)
            for cut in self._cuts:
                if head.startswith(cut.start):
                    cut.times -= 1
                    if cut.times == 0:
                        self._cuts.remove(cut)
                    return cut
        return None


class _Pair:
    """A connection of a client and the one to the server that belongs to it. One request is under way at a time."""

    def __init__(self, proxy: FlakyProxy, client: socket.socket, server: socket.socket) -> None:
        self.proxy, self.client, self.server = proxy, client, server
        self.cut: Cut | None = None
        self.passed = 0
        self.answered = True

    def requests(self) -> None:
        self.proxy.start(self.responses)
        with suppress(OSError):
            while data := self.client.recv(CHUNK):
                if self.answered:
                    self.answered, self.passed = False, 0
                    self.cut = self.proxy.matching(data)
                cut = self.cut
                if cut is not None and cut.pause:
                    threading.Event().wait(cut.pause)
                elif cut is not None and cut.request is not None:
                    left = cut.request - self.passed
                    if left <= len(data):
                        self.server.sendall(data[: max(0, left)])
                        self.end(cut)
                        return
                self.passed += len(data)
                self.server.sendall(data)
        self.end()

    def responses(self) -> None:
        with suppress(OSError):
            while data := self.server.recv(CHUNK):
                cut = self.cut
                if cut is not None and cut.request is None and not cut.pause:
                    self.client.sendall(data[: cut.response])
                    self.end(cut)
                    return
                self.answered = True
                self.client.sendall(data)
        self.end()

    def end(self, cut: Cut | None = None) -> None:
        _reset(self.client)
        _reset(self.server)
        if cut is not None and cut.times == 0:
            cut.done.set()


def _connected(upstream: int | Path) -> socket.socket:
    if isinstance(upstream, int):
        return socket.create_connection(("127.0.0.1", upstream))
    server = socket.socket(socket.AF_UNIX)
    try:
        server.connect(str(upstream))
    except OSError:
        server.close()
        raise
    return server


def _reset(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    # Shutting down first wakes a thread that waits for data; a reset alone would leave it waiting.
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RD)
    connection.close()
