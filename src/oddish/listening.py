"""The socket that a process listens on. Standard library only."""

import asyncio
import socket
from collections.abc import Iterable

from oddish.errors import OddishError


class AddressTaken(OddishError):
    """The address to bind belongs to another process, or to no interface of this machine."""

    code = "address_taken"


TURNS_UNTIL_CONNECTED = 2
"""Of the loop after it has accepted a connection: in one its transport is made, in the next its protocol is told."""


def listen(
    host: str, port: int, *, who: str = "The server", named: str = "ODDISH_HOST and ODDISH_PORT"
) -> socket.socket:
    """A listening socket; port 0 is any free one. ``named``: what sets the two.

    Raises ``AddressTaken``.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.create_server(address[:2], family=family, backlog=2048)
    except OSError as error:
        raise AddressTaken(
            f"{who} cannot listen on {host} port {port}: {error.strerror or error}.",
            fix=f"Set {named} to an address that is free, or stop what uses this one.",
        ) from error
    # Inherited by connections: a head and a body sent apart would otherwise wait 40 ms for an acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def url_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def stop_accepting(listeners: Iterable[socket.socket]) -> None:
    """Returns when the protocols of all connections that the loop has accepted from ``listeners`` are told of them.

    A server that is closed before that forgets them: their clients wait, and it may wait for their clients.
    """
    loop = asyncio.get_running_loop()
    for listener in listeners:
        loop.remove_reader(listener)
    for _ in range(TURNS_UNTIL_CONNECTED):
        await asyncio.sleep(0)
