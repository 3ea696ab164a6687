"""The HTTP server as an ASGI application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.middleware import Middleware

from oddish import __version__
from oddish.api import problems, routing
from oddish.api.access import AccessLog
from oddish.api.description import DescribedAPI
from oddish.api.routes import (
    agents,
    batch,
    browsing,
    concurrency,
    costs,
    deletions,
    diagnostics,
    evidence,
    exportpages,
    exports,
    gateway,
    gatewaydeliveries,
    gatewayjobs,
    health,
    imports,
    keys,
    live,
    load,
    public,
    reads,
    retries,
    secrets,
    sharing,
    signin,
    store,
    submission,
    tags,
    taskfiles,
    uploads,
    versions,
    viewer,
)
from oddish.api.security import OTHER_HOSTS, BodyLimit, BodyPace, allowed_hosts
from oddish.api.services import Services
from oddish.serving.security import HeadAsGet, HostCheck, OriginCheck, SecurityHeaders
from oddish.settings import Settings

ROUTERS = (
    health.router,
    load.router,
    store.router,
    uploads.router,
    submission.router,
    batch.router,
    retries.router,
    versions.router,
    taskfiles.router,
    browsing.router,
    reads.router,
    evidence.router,
    live.router,
    imports.router,
    concurrency.router,
    diagnostics.router,
    costs.router,
    keys.router,
    agents.router,
    secrets.router,
    tags.router,
    sharing.router,
    public.router,
    deletions.router,
    gateway.router,
    gatewaydeliveries.router,
    gatewayjobs.router,
    signin.router,
    exports.router,
    exportpages.router,
    viewer.router,
)


BODY_PAUSE_SECONDS = 60.0
"""Between two pieces of a request body."""


def create_app(settings: Settings) -> FastAPI:
    """The application for ``settings``. No connection is made before the first request or ``Services.prepare``."""
    services = Services.of(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await services.close()

    app = DescribedAPI(
        title="oddish",
        version=__version__,
        description="Agent evaluations in the Harbor task format.",
        openapi_url=None,
        lifespan=lifespan,
        middleware=[
            Middleware(SecurityHeaders),
            Middleware(AccessLog),
            Middleware(HostCheck, allowed=allowed_hosts(settings), fix=OTHER_HOSTS),
            Middleware(OriginCheck, public_url=settings.public_url),
            Middleware(BodyPace, pause=BODY_PAUSE_SECONDS),
            Middleware(BodyLimit, limit=settings.max_request_bytes),
            Middleware(HeadAsGet),
        ],
    )
    app.state.services = services
    problems.install(app)
    for router in ROUTERS:
        app.router.routes.extend(router.routes)
    routing.check(app.routes)
    return app
