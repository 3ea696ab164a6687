"""The id under which the lines of one request are found in the logs of all who took part in it, and what came of it.
Standard library only.

A caller may bring it, as ``X-Correlation-Id`` or as the trace of a W3C ``traceparent``; else it is made up.
"""

import re
import secrets
from collections.abc import Mapping
from contextvars import ContextVar

HEADER = "X-Correlation-Id"
TRACE_HEADER = "traceparent"
CURRENT: ContextVar[str | None] = ContextVar("correlation_id", default=None)
"""Of the request that is answered; None outside of requests."""
_BROUGHT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/+=-]{0,127}")
_TRACE = re.compile(r"[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")


def is_usable(brought: str) -> bool:
    """Up to 128 characters that mean nothing to a shell, a terminal or a log."""
    return _BROUGHT.fullmatch(brought) is not None


def correlation_id(headers: Mapping[str, str]) -> str:
    """That of a request with these headers, whose names are looked up whatever their case."""
    brought = headers.get(HEADER, "")
    if is_usable(brought):
        return brought
    trace = _TRACE.fullmatch(headers.get(TRACE_HEADER, ""))
    return trace[1] if trace else secrets.token_hex(16)
