"""Refusals and failures as RFC 9457 problem documents, with a ``code`` to branch on and a ``fix`` to act on."""

import http
import re
import secrets
from collections.abc import Mapping, Sequence

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from sqlalchemy import exc
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from oddish.errors import OddishError

MEDIA_TYPE = "application/problem+json"
SHOWN_ERRORS = 5
SHOWN_CHARACTERS = 120
RETRY_AFTER_SECONDS = "2"
CONFIDENTIAL = re.compile(r"env|key|secret|token|password|credential|auth", re.IGNORECASE)

log = structlog.get_logger()


def problem(
    status: int,
    code: str,
    detail: str,
    *,
    fix: str | None = None,
    headers: Mapping[str, str] | None = None,
    **members: object,
) -> JSONResponse:
    document: dict[str, object] = {
        "type": "about:blank",
        "title": http.HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
    }
    if fix is not None:
        document["fix"] = fix
    return JSONResponse(
        document | members, status_code=status, headers=dict(headers) if headers else None, media_type=MEDIA_TYPE
    )


def refusal(error: OddishError) -> JSONResponse:
    headers = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": RETRY_AFTER_SECONDS}}.get(error.status)
    return problem(error.status, error.code, error.message, fix=error.fix, headers=headers)


def failure(error: Exception, request: Request) -> JSONResponse:
    """An unexpected error: logged with an id, which is all the caller learns."""
    if isinstance(error, exc.OperationalError | exc.InterfaceError | exc.TimeoutError):
        log.warning("database_unavailable", path=request.url.path, error=str(error.__cause__ or error))
        return problem(
            503,
            "database_unavailable",
            "The database does not answer in time.",
            fix="Try again in a moment.",
            headers={"Retry-After": RETRY_AFTER_SECONDS},
        )
    if isinstance(error, exc.DataError | UnicodeEncodeError):
        return problem(400, "invalid_input", "The request holds a character or number that cannot be stored.")
    incident = secrets.token_hex(8)
    log.error("request_failed", incident=incident, method=request.method, path=request.url.path, exc_info=error)
    return problem(
        500,
        "internal",
        f"The server failed to answer; its log has the reason under {incident}.",
        fix="Report this incident to the operator of the server.",
        incident=incident,
    )


def install(app: FastAPI) -> None:
    app.add_exception_handler(OddishError, _on_refusal)
    app.add_exception_handler(RequestValidationError, _on_validation)
    app.add_exception_handler(HTTPException, _on_http)


async def _on_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, OddishError)  # noqa: S101
    return refusal(error)


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    known = {
        404: ("not_found", f"There is no {request.url.path} here."),
        405: ("method_not_allowed", f"{request.method} is not possible on {request.url.path}."),
        413: ("too_large", str(error.detail)),
    }
    code, detail = known.get(error.status_code, ("http_error", str(error.detail)))
    return problem(error.status_code, code, detail, headers=error.headers)


async def _on_validation(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    found = [_explained(entry) for entry in error.errors()]
    detail = " ".join(f"{entry['field']}: {_sentence(entry['message'])}" for entry in found[:SHOWN_ERRORS])
    return problem(422, "validation", detail, errors=found)


def _explained(entry: Mapping[str, object]) -> dict[str, str]:
    location = entry["loc"]
    assert isinstance(location, Sequence)  # noqa: S101
    path = [str(part) for part in location]
    field = ".".join(path[1:]) or path[0]
    message = str(entry["msg"]).removeprefix("Value error, ")
    given = entry.get("input")
    if isinstance(given, str | int | float) and entry["type"] != "missing" and not CONFIDENTIAL.search(field):
        message = f"{message.removesuffix('.')} (given: {str(given)[:SHOWN_CHARACTERS]!r})"
    return {"field": field, "message": message}


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
