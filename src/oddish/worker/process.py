"""A process that runs one worker until SIGTERM or SIGINT: ``python -m oddish.worker``.

At SIGTERM it lets what runs end for ``ODDISH_DRAIN_SECONDS``; at the second one, and at SIGINT, it gives that back.
"""

import asyncio
import contextlib
import signal
import sys

import structlog
from sqlalchemy.exc import SQLAlchemyError

from oddish import __version__
from oddish.db.ciphertexts import AnotherSecretKey
from oddish.engine.client import EngineUnavailable
from oddish.errors import EXIT_UNREADABLE_SETTING, OddishError
from oddish.listening import AddressTaken
from oddish.logs import configure_logging
from oddish.metrics import name_process
from oddish.room import is_full
from oddish.settings import Settings, UnreadableSetting, read_settings
from oddish.worker.service import WorkerFenced, WorkerService

log = structlog.get_logger()


async def serve(settings: Settings) -> None:
    service = WorkerService(settings)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, service.drain)
    loop.add_signal_handler(signal.SIGINT, service.stop)
    name_process("worker", __version__)
    async with contextlib.AsyncExitStack() as stack:
        if settings.worker_metrics_port is not None:
            from oddish.worker.probes import probes  # only here: a web server that most workers do without

            host, port = settings.worker_metrics_host, settings.worker_metrics_port
            try:
                await stack.enter_async_context(probes(host, port, service.readiness))
            except AddressTaken:
                await service.close()
                raise
        await service.run()


def main() -> int:
    try:
        settings = read_settings()
        configure_logging(settings.log_format)
        asyncio.run(serve(settings))
    except UnreadableSetting as error:
        print(f"oddish worker: {error}", file=sys.stderr)  # noqa: T201
        return EXIT_UNREADABLE_SETTING
    except (OddishError, EngineUnavailable, WorkerFenced) as error:
        log.error("worker ended", error=str(error))
        return EXIT_UNREADABLE_SETTING if isinstance(error, AnotherSecretKey) else 1
    except SQLAlchemyError as error:
        log.error("worker ended", error=f"The database cannot be used: {error.__cause__ or error}.")
        return 1
    except OSError as error:
        if not is_full(error):
            raise
        log.error("worker ended", error=f"There is no room on the disk: {error}.")
        return 1
    return 0
