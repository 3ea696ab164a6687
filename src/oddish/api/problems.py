"""What is answered for each error that a route may end with: a problem document."""

import re
from collections.abc import Iterator, Mapping, Sequence

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import ValidationError
from sqlalchemy import exc
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from oddish.api.paths import loggable
from oddish.errors import InvalidInput, NotFound, OddishError, TooLarge, Unavailable
from oddish.schemas.problem import Problem
from oddish.serving.excerpt import excerpt
from oddish.serving.refusals import MethodNotAllowed, refusal, unexpected

SHOWN_ERRORS = 5
SHOWN_CHARACTERS = 120
TOO_MUCH = "54"
"""Class of the SQL states of what exceeds a limit of the database's."""
NUL = "NUL"
"""What the driver names in refusing a text. It refuses rows that it cannot read with the same error."""
CONFIDENTIAL = re.compile(r"env|key|secret|token|password|credential|auth|^value$", re.IGNORECASE)

log = structlog.get_logger()


class InvalidRequest(OddishError):
    """A parameter, header or member of the body is missing or cannot be read; `errors` lists each of them."""

    code = "validation"
    status = 422


class BodyStalled(OddishError):
    """Nothing more of a request's body came for a while."""

    code = "body_stalled"
    status = 408


class DatabaseUnavailable(Unavailable):
    """The database does not answer in time; trying again may help."""

    code = "database_unavailable"


def problem(error: OddishError) -> Problem:
    """The document for ``error`` as a member of an answer."""
    return Problem.model_validate_json(bytes(refusal(error).body))


def failure(error: Exception, request: Request) -> JSONResponse:
    """An unexpected error: logged with an id, which is all the caller learns."""
    sqlstate: str = (isinstance(error, exc.DBAPIError) and getattr(error.orig, "sqlstate", None)) or ""
    if sqlstate.startswith(TOO_MUCH):
        return refusal(
            InvalidInput("The request holds more than the database can take.", fix="Send less, or shorten it.")
        )
    if isinstance(error, exc.OperationalError | exc.InterfaceError | exc.TimeoutError):
        log.warning("database_unavailable", path=loggable(request.url.path), error=str(error.__cause__ or error))
        return refusal(DatabaseUnavailable("The database does not answer in time.", fix="Try again in a moment."))
    if isinstance(error, UnicodeEncodeError) or (
        isinstance(error, exc.DataError) and (sqlstate or NUL in str(error.orig))
    ):
        return refusal(InvalidInput("The request holds a character or number that cannot be stored."))
    return refusal(unexpected(error, method=request.method, path=loggable(request.url.path)))


def answer_to(error: Exception, request: Request) -> JSONResponse:
    """What is answered for ``error`` where it ends a part of a request, not the whole of it."""
    if isinstance(error, OddishError):
        return refusal(error)
    if isinstance(error, ValidationError):
        return _invalid([{**entry, "loc": ("body", *entry["loc"])} for entry in error.errors()])
    return failure(error, request)


def install(app: FastAPI) -> None:
    app.add_exception_handler(OddishError, _on_refusal)
    app.add_exception_handler(RequestValidationError, _on_validation)
    app.add_exception_handler(HTTPException, _on_http)


async def _on_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, OddishError)  # noqa: S101
    return refusal(error)


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    method, path, said = excerpt(request.method), excerpt(request.url.path), str(error.detail)
    known: dict[int, OddishError] = {
        404: NotFound(f"There is no {path} here."),
        405: MethodNotAllowed(f"{method} is not possible on {path}."),
        408: BodyStalled(said, fix="Send the request again."),
        413: TooLarge(said),
    }
    response = refusal(known.get(error.status_code, InvalidInput(f"{said}.")), status=error.status_code)
    response.headers.update(error.headers or {})
    if error.status_code == 405:
        response.headers["Allow"] = ", ".join(sorted(_methods(request)))
    return response


def _methods(request: Request) -> Iterator[str]:
    """The methods of all routes that have the path of the request."""
    for route in request.app.routes:
        if isinstance(route, APIRoute) and route.path_regex.match(request.url.path):
            yield from route.methods or ()
            yield from {"HEAD"} if "GET" in (route.methods or ()) else ()


async def _on_validation(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    return _invalid(error.errors())


def _invalid(errors: Sequence[Mapping[str, object]]) -> JSONResponse:
    found = [_explained(entry) for entry in errors]
    detail = " ".join(f"{entry['field']}: {_sentence(entry['message'])}" for entry in found[:SHOWN_ERRORS])
    return refusal(InvalidRequest(detail), errors=found)


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
