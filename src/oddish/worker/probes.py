"""A small HTTP server beside the worker, for those who watch it: Prometheus, Kubernetes."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import asdict

import structlog
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from oddish.errors import OddishError
from oddish.metrics import CONTENT_TYPE, render
from oddish.readiness import Readiness

MOST_CONNECTIONS = 32
KEEP_ALIVE_SECONDS = 5

log = structlog.get_logger()


class AddressUnusable(OddishError):
    """The address for metrics and probes belongs to another process, or to no interface of this machine."""

    code = "address_taken"


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the worker's."""
        yield


@asynccontextmanager
async def probes(host: str, port: int, readiness: Readiness) -> AsyncIterator[str]:
    """Serves ``/metrics``, ``/health/live`` and ``/health/ready`` for as long as the context lasts; its URL.

    Raises ``AddressUnusable``.
    """
    with contextlib.closing(_listen(host, port)) as listener:
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
        host, port = listener.getsockname()[:2]
        url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
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


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        raise AddressUnusable(
            f"The worker cannot serve its metrics on {host} port {port}: {error.strerror or error}.",
            fix="Set ODDISH_WORKER_METRICS_HOST and ODDISH_WORKER_METRICS_PORT to an address that is free.",
        ) from error
