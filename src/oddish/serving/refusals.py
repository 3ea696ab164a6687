"""Refusals as RFC 9457 problem documents, with a ``code`` to branch on and a ``fix`` to act on."""

import http
import secrets
from collections.abc import Mapping

import structlog
from starlette.responses import JSONResponse

from oddish.errors import Forbidden, OddishError
from oddish.serving.excerpt import excerpt

MEDIA_TYPE = "application/problem+json"
HEADERS: Mapping[int, Mapping[str, str]] = {
    401: {"WWW-Authenticate": "Bearer"},
    429: {"Retry-After": "5"},
    503: {"Retry-After": "2"},
}

log = structlog.get_logger()


class MethodNotAllowed(OddishError):
    """The path exists, and this method does not apply to it."""

    code = "method_not_allowed"
    status = 405


class Misdirected(OddishError):
    """The server does not answer for the host named by the request."""

    code = "misdirected"
    status = 421


class ForeignOrigin(Forbidden):
    """A page of another origin asked for a change."""

    code = "foreign_origin"


class Internal(OddishError):
    """The server failed; its log has the reason under the `incident`."""

    code = "internal"
    status = 500

    def __init__(self, incident: str) -> None:
        super().__init__(
            f"The server failed to answer; its log has the reason under {incident}.",
            fix="Report this incident to the operator of the server.",
        )
        self.incident = incident


def refusal(error: OddishError, *, status: int | None = None, **members: object) -> JSONResponse:
    """The document for ``error``; ``members`` are added to it."""
    status = status or error.status
    document: dict[str, object] = {
        "type": "about:blank",
        "title": http.HTTPStatus(status).phrase,
        "status": status,
        "detail": error.message,
        "code": error.code,
    }
    if error.fix is not None:
        document["fix"] = error.fix
    if isinstance(error, Internal):
        document["incident"] = error.incident
    headers = HEADERS.get(status)
    if error.retry_after is not None:
        headers = {**(headers or {}), "Retry-After": str(error.retry_after)}
    return JSONResponse(document | members, status_code=status, headers=headers, media_type=MEDIA_TYPE)


def unexpected(error: Exception, *, method: str, path: str) -> Internal:
    """What a caller learns of an error that nobody foresaw: an id, under which it is logged."""
    incident = secrets.token_hex(8)
    log.error("request_failed", incident=incident, method=excerpt(method), path=path, exc_info=error)
    return Internal(incident)
