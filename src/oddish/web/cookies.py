"""Names of cookies. Browsers send those of a host to all its ports, and several of our servers run side by side."""

from starlette.requests import Request


def name_for(request: Request, prefix: str) -> str:
    """One of its own for each port that browsers call, whatever port a proxy passes that on to."""
    _, colon, port = request.headers.get("host", "").rpartition(":")
    return f"{prefix}-{port}" if colon and port.isascii() and port.isdecimal() else prefix
