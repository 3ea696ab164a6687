"""A port of the loopback address. Standard library only."""

import contextlib
import socket
import sys
from pathlib import Path

HOST = "127.0.0.1"
PREFERRED = 8780
_TRIED = 100
_LISTENING = "0A"


def free_port(preferred: int = PREFERRED) -> int:
    """``preferred``, else the next one that nobody listens on, else whichever the kernel offers."""
    for port in (*range(preferred, min(preferred + _TRIED, 65536)), 0):
        with contextlib.suppress(OSError), socket.socket() as candidate:
            candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            candidate.bind((HOST, port))
            found: int = candidate.getsockname()[1]
            return found
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
