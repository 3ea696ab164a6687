"""The OpenAPI document: what each route needs and how it refuses, derived from the table of scopes."""

from collections.abc import Iterator, Mapping
from typing import Any

from fastapi import FastAPI

from oddish.api.scopes import ACCESS, PUBLIC, Needs
from oddish.schemas.problem import Problem
from oddish.serving.refusals import MEDIA_TYPE
from oddish.serving.security import MUTATIONS

REFUSALS: Mapping[int, str] = {
    400: "A value that can never be accepted.",
    401: "No key, or one that is unknown, expired or revoked.",
    403: "The key's scope or its user's role is too small, or a page of another origin asks for a change.",
    404: "Nothing of that id in the caller's organisation.",
    408: "The body stopped arriving.",
    409: "The request contradicts what exists.",
    413: "The body is larger than this server accepts.",
    421: "The server does not answer for this host.",
    422: "A parameter, header or member of the body cannot be read.",
    500: "The server failed; `incident` names the entry in its log.",
    503: "Something that is needed does not answer; try again after `Retry-After` seconds.",
    507: "The object store has no space left.",
}
KEYS = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API key: `ok_` and 32 hex digits."},
    "header": {"type": "apiKey", "in": "header", "name": "X-Api-Key", "description": "The same key."},
}


class DescribedAPI(FastAPI):
    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            self.openapi_schema = described(super().openapi())
        return self.openapi_schema


def described(document: dict[str, Any]) -> dict[str, Any]:
    """``document`` with keys, scopes and refusals of every operation."""
    access = {(method, template(path)): needed for (method, path), needed in ACCESS.items()}
    for path, operations in document["paths"].items():
        for name, operation in operations.items():
            method = name.upper()
            needed = access[method, path]
            if needed is not PUBLIC:
                operation["security"] = [{kind: _roles(needed)} for kind in KEYS]
                operation["description"] = "\n\n".join(filter(None, (operation.get("description"), _condition(needed))))
            refusals = {str(status): _refusal(status) for status in statuses(method, operation)}
            operation["responses"].pop("422", None)
            operation["responses"] = dict(sorted((refusals | operation["responses"]).items()))
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas |= schema.pop("$defs") | {"Problem": schema}
    document["components"]["securitySchemes"] = KEYS
    return document


def template(path: str) -> str:
    """The path of a route as OpenAPI writes it."""
    return path.replace(":path}", "}")


def statuses(method: str, operation: Mapping[str, Any]) -> Iterator[int]:
    """The refusals that an operation can end with."""
    places = {parameter["in"] for parameter in operation.get("parameters", ())}
    has_body = "requestBody" in operation
    changes = method in MUTATIONS
    if places or has_body:
        yield from (400, 422)
    if "security" in operation:
        yield 401
    if "security" in operation or changes:
        yield 403
    if "path" in places or has_body:
        yield 404
    if changes:
        yield from (409, 507)
    if has_body:
        yield from (408, 413)
    yield from (421, 500, 503)


def _roles(needed: Needs) -> list[str]:
    """Scope and role, as the names that a security requirement may list."""
    return [needed.scope.value, *([needed.role] if needed.role else [])]


def _condition(needed: Needs) -> str:
    of_user = f" whose user has the role `{needed.role}`" if needed.role else ""
    setting = f", unless `ODDISH_{needed.unless.upper()}` is on" if needed.unless else ""
    return f"Needs a key of scope `{needed.scope.value}`{of_user}{setting}."


def _refusal(status: int) -> dict[str, Any]:
    reference = {"$ref": "#/components/schemas/Problem"}
    return {"description": REFUSALS[status], "content": {MEDIA_TYPE: {"schema": reference}}}
