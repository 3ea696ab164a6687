"""A proxy in front of a server whose mood changes while connections are open."""

import select
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path
from typing import Self

CHUNK = 65_536
SLOW_CHUNK = 4_096
SLOW_PAUSE = 0.06
"""Seconds for each slow chunk: about 64 kB a second, in each direction of each connection."""
RESET = struct.pack("ii", 1, 0)
"""For SO_LINGER: closing sends a reset instead of an orderly end."""
UNAVAILABLE = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
COMMIT = b"COMMIT\0"


class Mood(Enum):
    CALM = "calm"
    AWAY = "away"
    """Open connections are reset, new ones refused."""
    FAILING = "failing"
    """Every request is answered with 503, and never arrives."""
    SLOW = "slow"
    MUTE = "mute"
    """Every request arrives and is carried out; instead of the answer comes a reset."""
    FORGETFUL = "forgetful"
    """As mute, for commits of a database alone."""


class Weather:
    """``with Weather(upstream) as proxy``: listens on ``proxy.port`` of the loopback.

    ``upstream`` is a port of it or a Unix socket.
    """

    def __init__(self, upstream: int | Path) -> None:
        self._upstream = upstream
        self._moods: Counter[Mood] = Counter()
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self.struck = 0
        """Connections that a mood has ended, and pieces that it has slowed down."""

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._reset_all()

    @contextmanager
    def mood(self, mood: Mood) -> Iterator[None]:
        """That mood for as long as the context is open; several may overlap."""
        with self._lock:
            self._moods[mood] += 1
        if mood is Mood.AWAY:
            self._reset_all()
        try:
            yield
        finally:
            with self._lock:
                self._moods[mood] -= 1

    def is_(self, mood: Mood) -> bool:
        return self._moods[mood] > 0

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.is_(Mood.AWAY):
                self._strike(client)
                continue
            try:
                server = _connected(self._upstream)
            except OSError:
                _reset(client)
                continue
            with self._lock:
                self._open |= {client, server}
            threading.Thread(target=self._serve, args=(client, server), daemon=True).start()

    def _serve(self, client: socket.socket, server: socket.socket) -> None:
        committing = False
        with suppress(OSError, ValueError):
            while True:
                ready, _, _ = select.select([client, server], [], [])
                for source in ready:
                    slow = self.is_(Mood.SLOW)
                    data = source.recv(SLOW_CHUNK if slow else CHUNK)
                    if not data:
                        return self._end(client, server)
                    if slow:
                        self.struck += 1
                        time.sleep(SLOW_PAUSE)
                    if source is client:
                        if self.is_(Mood.FAILING):
                            self._refuse(client)
                            return self._end(client, server)
                        committing = data.endswith(COMMIT)
                        server.sendall(data)
                    elif self.is_(Mood.MUTE) or (committing and self.is_(Mood.FORGETFUL)):
                        self.struck += 1
                        return self._end(client, server)
                    else:
                        client.sendall(data)
        return self._end(client, server)

    def _refuse(self, client: socket.socket) -> None:
        self.struck += 1
        client.sendall(UNAVAILABLE)
        client.shutdown(socket.SHUT_WR)
        client.settimeout(1)
        # A reset while the client still sends would take the answer away with it.
        while client.recv(CHUNK):
            pass

    def _end(self, client: socket.socket, server: socket.socket) -> None:
        with self._lock:
            self._open -= {client, server}
        _reset(client)
        _reset(server)

    def _strike(self, client: socket.socket) -> None:
        self.struck += 1
        _reset(client)

    def _reset_all(self) -> None:
        with self._lock:
            opened, self._open = self._open, set()
        self.struck += len(opened) // 2
        for connection in opened:
            with suppress(OSError):
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def _connected(upstream: int | Path) -> socket.socket:
    server = socket.socket(socket.AF_INET if isinstance(upstream, int) else socket.AF_UNIX)
    try:
        server.connect(("127.0.0.1", upstream) if isinstance(upstream, int) else str(upstream))
    except OSError:
        server.close()
        raise
    return server


def _reset(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    connection.close()
