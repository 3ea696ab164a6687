"""Routes that let nobody in before the table of scopes does, not even to have a body read."""

from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from fastapi import APIRouter, Depends
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from oddish.api.authentication import admit
from oddish.api.idempotency import is_repeatable
from oddish.api.scopes import ACCESS, PUBLIC, UnlistedRoute, access
from oddish.api.services import services_of
from oddish.api.sites import SITE
from oddish.errors import OddishError
from oddish.web.negotiation import prefers_error_twin
from oddish.web.pages import error_answer


class UnrepeatableRoute(RuntimeError):
    """A POST route that does nothing with the ``Idempotency-Key`` of its calls."""


class GuardedRoute(APIRoute):
    by_cookie = False
    """Whether a browser that is signed in needs no key."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()
        needed = access(self.methods or (), self.path)
        if needed is PUBLIC:
            return handler

        async def guarded(request: Request) -> Response:
            opened = needed.unless is not None and getattr(services_of(request).settings, needed.unless)
            if not opened:
                await admit(request, needed, by_cookie=self.by_cookie)
            return await handler(request)

        return guarded


class PageRoute(GuardedRoute):
    """A page, which only reads, for programs with a key and browsers with a cookie; what is wrong is a page as well."""

    by_cookie = True

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def shown(request: Request) -> Response:
            try:
                return await handler(request)
            except OddishError as error:
                return error_answer(SITE, request, error, as_twin=prefers_error_twin(request))

        return shown


def router(
    route_class: type[GuardedRoute] = GuardedRoute, *, requires: Callable[..., object] | None = None
) -> APIRouter:
    """``requires`` raises what a call of any of its routes is refused for, once its key is admitted."""
    return APIRouter(route_class=route_class, dependencies=[Depends(requires)] if requires else None)


def check(routes: Iterable[BaseRoute]) -> None:
    """Raises ``UnlistedRoute`` unless these are exactly the routes of the table, each of them guarded.

    Raises ``UnrepeatableRoute`` for a POST that cannot be repeated.
    """
    found: set[tuple[str, str]] = set()
    for route in routes:
        if not isinstance(route, GuardedRoute):
            raise UnlistedRoute(f"{route!r} is not guarded by the table of scopes")
        if "POST" in (route.methods or ()) and not is_repeatable(route):
            raise UnrepeatableRoute(f"POST {route.path} takes no RepeatableOf")
        found |= {(method, route.path) for method in route.methods or ()}
    if difference := sorted(found ^ ACCESS.keys()):
        raise UnlistedRoute(f"the routes and the table of scopes differ in {difference}")
