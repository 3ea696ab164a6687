"""A port of the loopback address. Standard library only."""

import contextlib
import socket
import sys
from pathlib import Path

HOST = "127.0.0.1"
PREFERRED = 8780
_TRIED = 100
_LISTENING = "0A"


def listen(preferred: int = PREFERRED) -> socket.socket:
    """A listening socket at ``preferred``, else at the next port that is free, else wherever the kernel offers."""
    for port in (*range(preferred, min(preferred + _TRIED, 65536)), 0):
        with contextlib.suppress(OSError):
            listener = socket.create_server((HOST, port), backlog=2048)
            # Inherited by connections: a head and a body sent apart would otherwise wait 40 ms for an acknowledgement.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return listener
    raise OSError(f"no port of {HOST} is free")


def listens(pid: int, port: int) -> bool:
    """Whether it is ``pid`` that listens there, and not a stranger who took the port; yes where nobody can tell."""
    address = f"{int.from_bytes(socket.inet_aton(HOST), sys.byteorder):08X}:{port:04X}"
    try:
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
    except OSError:
        return True
    listeners = {f"socket:[{row[9]}]" for row in rows if row[1] == address and row[3] == _LISTENING}
    return any(_target(descriptor) in listeners for descriptor in _entries(Path(f"/proc/{pid}/fd")))


def healthy(port: int, timeout: float = 1.0) -> bool:
    """Whether an API server answers ``GET /health`` there with success."""
    request = f"GET /health HTTP/1.1\r\nHost: {HOST}:{port}\r\nConnection: close\r\n\r\n"
    try:
        with socket.create_connection((HOST, port), timeout) as connection:
            connection.sendall(request.encode())
            return connection.makefile("rb").readline(64).split()[1:2] == [b"200"]
    except OSError:
        return False


def _entries(directory: Path) -> list[Path]:
    try:
        return list(directory.iterdir())
    except OSError:
        return []


def _target(link: Path) -> str | None:
    try:
        return str(link.readlink())
    except OSError:
        return None
