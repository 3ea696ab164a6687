"""Bounded memory for unbounded output."""

from collections.abc import Iterator


class Capture:
    """Keeps the first and the last half of ``limit`` bytes of a stream, with a marker where something was left out."""

    def __init__(self, limit: int) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._half = limit // 2
        self._dropped = 0

    def feed(self, data: bytes) -> None:
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        if len(self._tail) > 2 * self._half:
            self._trim()

    def _trim(self) -> None:
        excess = len(self._tail) - self._half
        if excess > 0:
            self._dropped += excess
            del self._tail[:excess]

    def value(self) -> bytes:
        self._trim()
        if not self._dropped:
            return bytes(self._head + self._tail)
        return b"%b\n[... %d bytes left out ...]\n%b" % (bytes(self._head), self._dropped, bytes(self._tail))


class Lines:
    """Cuts a stream into lines; a line above ``limit`` bytes comes in pieces."""

    def __init__(self, limit: int = 64 * 1024) -> None:
        self._rest = bytearray()
        self._limit = limit

    def feed(self, data: bytes) -> Iterator[bytes]:
        self._rest += data
        start = 0
        while (end := self._rest.find(b"\n", start)) != -1:
            yield bytes(self._rest[start : end + 1])
            start = end + 1
        del self._rest[:start]
        while len(self._rest) >= self._limit:
            yield bytes(self._rest[: self._limit])
            del self._rest[: self._limit]

    def close(self) -> Iterator[bytes]:
        if self._rest:
            yield bytes(self._rest)
            self._rest.clear()
