"""Whether the server works, and what it offers."""

import asyncio
from datetime import UTC, datetime

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request
from starlette.responses import JSONResponse

from oddish import __version__
from oddish.api.routing import router as new_router
from oddish.api.services import Services, ServicesOf
from oddish.schemas.health import Health

DATABASE_PATIENCE_SECONDS = 2.0

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


@router.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request) -> JSONResponse:
    """This interface as an OpenAPI document."""
    return JSONResponse(request.app.openapi())


async def _database_answers(services: Services) -> bool:
    try:
        async with asyncio.timeout(DATABASE_PATIENCE_SECONDS), services.reads.connect() as connection:
            await connection.execute(text("SELECT 1"))
    except (SQLAlchemyError, OSError, TimeoutError):
        return False
    return True
