"""``oddish view`` as an ASGI application: one results directory, for whoever came by a link of this process."""

from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from oddish.errors import NotFound, OddishError
from oddish.serving.excerpt import excerpt
from oddish.serving.refusals import MethodNotAllowed
from oddish.serving.security import HEADERS, LOOPBACK, HostCheck, OriginCheck, SecurityHeaders
from oddish.viewer.results import Results
from oddish.web import assets, signin
from oddish.web.negotiation import prefers_error_twin
from oddish.web.pages import FRAMED_NOWHERE, POLICY, Site, error_answer
from oddish.web.parsing import FAST
from oddish.web.signin import Door, SignedIn
from oddish.web.viewer.links import Links
from oddish.web.viewer.routes import endpoints
from oddish.web.viewer.shelf import Shelf

COMPRESSION = 5
"""Of 9, which takes five times as long to make pages smaller by a hundredth."""
OTHER_HOSTS = "Call it as 127.0.0.1 or localhost."


def create_app(directory: Path, door: Door | None) -> Starlette:
    """The application for a results directory. Without a ``door`` it is public: every host, every caller, any frame."""
    site = Site(home="/", policy=FRAMED_NOWHERE if door else POLICY)
    shelf = Shelf(Results(directory, FAST), Links(), directory.resolve().name or "results")
    headers = HEADERS | {"Content-Security-Policy": site.policy}
    middleware = [
        Middleware(SecurityHeaders, headers=headers),
        Middleware(HostCheck, allowed=LOOPBACK if door else None, fix=OTHER_HOSTS),
        Middleware(OriginCheck),
    ]
    routes = [Route(assets.ROUTE, assets.asset)]
    if door is None:
        del headers["X-Frame-Options"]
        middleware.append(Middleware(GZipMiddleware, compresslevel=COMPRESSION))
    else:
        middleware.append(Middleware(SignedIn, door=door, site=site))
        routes += signin.routes(door, site)
    routes += [Route(path, endpoint) for path, endpoint in endpoints(site, lambda _: shelf)]

    async def on_refusal(request: Request, error: Exception) -> Response:
        assert isinstance(error, OddishError)  # noqa: S101
        return error_answer(site, request, error, as_twin=prefers_error_twin(request))

    async def on_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101
        if error.status_code == 405:
            return await on_refusal(request, MethodNotAllowed(f"{request.method} is not possible here."))
        return await on_refusal(request, NotFound(f"There is no {excerpt(request.url.path)} here."))

    return Starlette(
        routes=routes, middleware=middleware, exception_handlers={OddishError: on_refusal, HTTPException: on_http}
    )
