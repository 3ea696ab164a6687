"""A process that serves HTTP until told to stop: ``python -m oddish.api``."""

import asyncio
import gc
import resource
import signal
import socket
import sys
from types import FrameType

import structlog
import uvicorn

from oddish import __version__
from oddish.api.app import create_app
from oddish.api.services import Services
from oddish.db.ciphertexts import AnotherSecretKey
from oddish.errors import EXIT_UNREADABLE_SETTING, OddishError
from oddish.listening import listen, stop_accepting, url_of
from oddish.logs import configure_logging
from oddish.metrics import name_process, watch_pool
from oddish.settings import Settings, UnreadableSetting, read_settings

GRACE_SECONDS = 10
KEEP_ALIVE_SECONDS = 30
MOST_CONNECTIONS = 4096
OTHER_FILES = 128
"""What a server opens beside connections: the database, the store, its own code."""
COLLECTED_AT = 50_000
"""New objects before they are looked through. One answer makes as many, which it frees itself."""

log = structlog.get_logger()


class DrainingServer(uvicorn.Server):
    """Told to end by SIGTERM, it says for a while that it is not ready before it stops accepting requests.

    Whoever spreads requests over several servers has that while to notice. A second signal, or SIGINT, cuts it short.
    Those who follow trials or jobs are let go then: they come again, to another server or to the next one here.
    """

    def __init__(self, config: uvicorn.Config, services: Services, drain_seconds: float) -> None:
        super().__init__(config)
        self._readiness = services.readiness
        self._feeds = (services.feeds, services.gateway_feeds)
        self._drain_seconds = drain_seconds
        self._loop = asyncio.get_running_loop()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        waits = sig == signal.SIGTERM and self._drain_seconds > 0 and not self._readiness.draining
        self._readiness.drain()
        if waits:
            log.info("draining", seconds=self._drain_seconds)
            self._loop.call_soon_threadsafe(self._loop.call_later, self._drain_seconds, self._stop)
        else:
            super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for feeds in self._feeds:
            feeds.end()
        await stop_accepting(sockets or [])
        await super().shutdown(sockets)

    def _stop(self) -> None:
        self.should_exit = True


def main() -> int:
    try:
        settings = read_settings()
        configure_logging(settings.log_format)
        asyncio.run(serve(settings))
    except OddishError as error:
        print(f"oddish server: {error}", file=sys.stderr)  # noqa: T201
        return EXIT_UNREADABLE_SETTING if isinstance(error, UnreadableSetting | AnotherSecretKey) else 1
    return 0


async def serve(settings: Settings) -> None:
    """Refuses to start with an ``OddishError``; returns after SIGTERM or SIGINT, when open requests are answered."""
    app = create_app(settings)
    services = app.state.services
    assert isinstance(services, Services)  # noqa: S101
    try:
        await services.prepare()
        listener = inherited(settings.listen_fd) or listen(settings.host, settings.port)
    except OddishError:
        await services.close()
        raise
    log.info("listening", url=url_of(listener))
    name_process("server", __version__)
    watch_pool(services.engine)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        limit_concurrency=most_connections(),
        lifespan="on",
    )
    for ending in (signal.SIGTERM, signal.SIGINT):  # uvicorn answers them, then raises them once more
        signal.signal(ending, lambda *_: None)
    gc.set_threshold(COLLECTED_AT, 20, 20)
    gc.freeze()  # what is loaded stays loaded: looking through it at each collection delays answers by 90 ms
    await DrainingServer(config, services, settings.drain_seconds).serve(sockets=[listener])


def most_connections() -> int:
    """How many may be open at once, so that the files that may be open do for everything else."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if files == resource.RLIM_INFINITY else max(1, min(MOST_CONNECTIONS, files - OTHER_FILES))


def inherited(descriptor: int | None) -> socket.socket | None:
    """The listening socket of the parent process, if it left one."""
    return None if descriptor is None else socket.socket(fileno=descriptor)
