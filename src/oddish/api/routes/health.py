"""Whether the server works, what it counts, and what it offers."""

import asyncio
from datetime import UTC, datetime

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from oddish import __version__
from oddish.api.metrics import Picture, queue_series, read_picture
from oddish.api.routing import router as new_router
from oddish.api.services import Services, ServicesOf
from oddish.metrics import CONTENT_TYPE, render
from oddish.schemas.health import Alive, Health, Ready

DATABASE_PATIENCE_SECONDS = 2.0
PICTURE_PATIENCE_SECONDS = 8.0

router = new_router()


@router.get("/health")
async def health(services: ServicesOf) -> Health:
    """Whether the server works: always 200, `degraded` while the database does not answer."""
    connected = await _database_answers(services)
    return Health(
        status="healthy" if connected else "degraded",
        database="connected" if connected else "disconnected",
        version=__version__,
        deployment=services.settings.deployment,
        timestamp=datetime.now(UTC),
    )


@router.get("/health/live", tags=["system"])
async def live() -> Alive:
    """The process answers; restart it when it does not. Says nothing of what the server needs."""
    return Alive()


@router.get("/health/ready", tags=["system"], responses={503: {"model": Ready, "description": "Send nothing here."}})
async def ready(services: ServicesOf, response: Response) -> Ready:
    """Whether requests should be sent here: 200 with the state of each dependency, 503 when one fails or while the
    server is about to end."""
    report = await services.readiness.report()
    if report.status != "ready":
        response.status_code = 503
    return Ready.model_validate(report)


@router.get("/metrics", tags=["system"], response_class=PlainTextResponse)
async def metrics(services: ServicesOf) -> Response:
    """Series for Prometheus: this server's own, and the queue of the whole deployment, which is at most 5 s old."""
    return Response(render(queue_series(await _picture(services))), media_type=CONTENT_TYPE)


@router.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request) -> JSONResponse:
    """This interface as an OpenAPI document."""
    return JSONResponse(request.app.openapi())


async def _picture(services: Services) -> Picture | None:
    try:
        async with asyncio.timeout(PICTURE_PATIENCE_SECONDS):
            backlog = await services.backlog.get()
            async with services.reads.connect() as connection:
                return await read_picture(connection, backlog)
    except (SQLAlchemyError, OSError, TimeoutError):
        return None


async def _database_answers(services: Services) -> bool:
    try:
        async with asyncio.timeout(DATABASE_PATIENCE_SECONDS), services.reads.connect() as connection:
            await connection.execute(text("SELECT 1"))
    except (SQLAlchemyError, OSError, TimeoutError):
        return False
    return True
