"""One end of a runner protocol socket for code without an event loop: JSON lines both ways, descriptors inwards."""

import json
import os
import socket
from collections import deque
from collections.abc import Mapping
from typing import Any

from oddish.engine.protocol import LINE_LIMIT

CHUNK = 65536
DESCRIPTORS_PER_READ = 64

type Message = dict[str, Any]


class ProtocolError(ValueError):
    """The peer sent something that is not a line of the protocol."""


class Connection:
    """A blocking stream socket of either channel. Closing the socket is its owner's business."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._partial = bytearray()
        self._descriptors: deque[int] = deque()

    def send(self, message: Mapping[str, Any], *descriptors: int) -> None:
        """Write one line; descriptors travel with its first byte. Raises OSError when the peer is gone."""
        line = encode(message)
        sent = socket.send_fds(self.sock, [line], descriptors) if descriptors else 0
        self.sock.sendall(line[sent:])

    def receive(self) -> list[Message] | None:
        """Wait for data and return the lines that are complete, perhaps none; None when the peer has closed.

        Raises ProtocolError for a line that is not a message or exceeds ``LINE_LIMIT``.
        """
        try:
            data, descriptors, _, _ = socket.recv_fds(self.sock, CHUNK, DESCRIPTORS_PER_READ)
        except ConnectionResetError:
            return None
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        self._descriptors.extend(descriptors)
        if not data:
            return None
        self._partial += data
        if b"\n" not in data:
            if len(self._partial) > LINE_LIMIT:
                raise ProtocolError(f"A protocol line is longer than {LINE_LIMIT} bytes.")
            return []
        *lines, rest = bytes(self._partial).split(b"\n")
        self._partial = bytearray(rest)
        return [decode(line) for line in lines]

    def take_descriptor(self) -> int:
        """The oldest descriptor received and not yet taken; each belongs to one line, in order."""
        return self._descriptors.popleft()


def encode(message: Mapping[str, Any]) -> bytes:
    """One protocol line."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> Message:
    """The object of one protocol line. Raises ProtocolError."""
    try:
        message = json.loads(line)
    except ValueError:
        raise ProtocolError("A protocol line is not JSON.") from None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise ProtocolError("A protocol line is not an object with a type.")
    return message
