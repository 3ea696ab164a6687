"""``python -m oddish.worker``: run one worker until SIGTERM or SIGINT."""

import asyncio
import signal
import sys

import structlog
from pydantic import ValidationError

from oddish.engine.client import EngineUnavailable
from oddish.errors import OddishError
from oddish.logs import configure_logging
from oddish.settings import Settings
from oddish.worker.service import WorkerFenced, WorkerService

log = structlog.get_logger()


async def serve(settings: Settings) -> None:
    service = WorkerService(settings)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, service.stop)
    await service.run()


def main() -> int:
    try:
        settings = Settings()
        configure_logging(settings.log_format)
        asyncio.run(serve(settings))
    except ValidationError as error:
        print(f"A setting cannot be read: {error}", file=sys.stderr)  # noqa: T201
        return 2
    except (OddishError, EngineUnavailable, WorkerFenced) as error:
        log.error("worker ended", error=str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
