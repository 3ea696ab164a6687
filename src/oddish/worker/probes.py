"""A small HTTP server beside the worker, for those who watch it: Prometheus, Kubernetes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import asdict

import structlog
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from oddish.listening import listen, url_of
from oddish.metrics import CONTENT_TYPE, render
from oddish.readiness import Readiness

MOST_CONNECTIONS = 32
KEEP_ALIVE_SECONDS = 5

log = structlog.get_logger()


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the worker's."""
        yield


@asynccontextmanager
async def probes(host: str, port: int, readiness: Readiness) -> AsyncIterator[str]:
    """Serves ``/metrics``, ``/health/live`` and ``/health/ready`` for as long as the context lasts; its URL.

    Raises ``AddressTaken``.
    """
    named = "ODDISH_WORKER_METRICS_HOST and ODDISH_WORKER_METRICS_PORT"
    with contextlib.closing(listen(host, port, who="The worker", named=named)) as listener:
        config = uvicorn.Config(
            _application(readiness),
            log_config=None,
            access_log=False,
            server_header=False,
            lifespan="off",
            limit_concurrency=MOST_CONNECTIONS,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=KEEP_ALIVE_SECONDS,
        )
        server = _Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        url = url_of(listener)
        log.info("metrics and probes are served", url=url)
        try:
            yield url
        finally:
            server.should_exit = True
            await serving


def _application(readiness: Readiness) -> Starlette:
    async def live(_: Request) -> Response:
        return JSONResponse({"status": "alive"})

    async def ready(_: Request) -> Response:
        report = await readiness.report()
        return JSONResponse(asdict(report), status_code=200 if report.status == "ready" else 503)

    async def metrics(_: Request) -> Response:
        return Response(render(), media_type=CONTENT_TYPE)

    routes = {"/health/live": live, "/health/ready": ready, "/metrics": metrics}
    return Starlette(routes=[Route(path, answer, methods=["GET"]) for path, answer in routes.items()])
