"""From the headers of a request to the principal it acts for."""

from typing import Annotated

from fastapi import Depends
from starlette.requests import Request

from oddish.api.scopes import Needs
from oddish.api.services import services_of
from oddish.api.signin import signed_in
from oddish.errors import Forbidden, Unauthenticated
from oddish.identity.keys import FIX, authenticate
from oddish.identity.principal import Principal
from oddish.serving.excerpt import excerpt


async def admit(request: Request, needed: Needs, *, by_cookie: bool = False) -> None:
    """Let the request in when its key has the scope and its user the role; ``by_cookie`` also
    one that has no key and is signed in.

    Raises ``Unauthenticated`` or ``Forbidden``.
    """
    services = services_of(request)
    async with services.reads.connect() as connection:
        if (key := _key(request)) is not None:
            principal = await authenticate(connection, key)
        elif by_cookie:
            principal = await signed_in(connection, services.keyring, request)
        else:
            raise Unauthenticated("The request carries no API key.", fix=FIX)
    call = f"{request.method} {excerpt(request.url.path)}"
    if not principal.scope.includes(needed.scope):
        raise Forbidden(
            f"{call} needs a key of scope {needed.scope.value!r}; this one has {principal.scope.value!r}.",
            fix=f"Use a key of scope {needed.scope.value!r}.",
        )
    if needed.role not in (None, principal.role):
        raise Forbidden(
            f"{call} needs the role {needed.role!r}; {principal.user_name!r} is a {principal.role}.",
            fix=f"Ask an {needed.role} of the organisation, or use a key of one.",
        )
    request.state.principal = principal
    if services.activity is not None:
        services.activity.touch()


def _key(request: Request) -> str | None:
    authorization = request.headers.get("authorization", "")
    kind, _, credentials = authorization.partition(" ")
    if kind.lower() == "bearer" and credentials.strip():
        return credentials.strip()
    return request.headers.get("x-api-key", "").strip() or None


def principal_of(request: Request) -> Principal:
    principal = request.state.principal
    assert isinstance(principal, Principal)  # noqa: S101
    return principal


type PrincipalOf = Annotated[Principal, Depends(principal_of)]
