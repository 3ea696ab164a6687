"""Keeps the Docker engine free of what dead attempts of this state directory left there."""

import asyncio
import contextlib
from collections.abc import Callable, Collection
from pathlib import Path

import structlog

from oddish.engine.containers import EngineDidNotAnswer, evict, release_network, sweep
from oddish.worker.metrics import LEAKS

log = structlog.get_logger()

PERIOD_SECONDS = 300.0
AGAIN_SECONDS = 10.0
"""The engine may still be making something that a killed child asked for: what is swept once is swept once more."""
LAST_SECONDS = 30.0
IMAGE_KEPT_SECONDS = 14 * 86400.0
"""How long the image of a task is kept after its last trial."""


class Sweeper:
    """Sweeps at the start, then when asked to and from time to time."""

    def __init__(self, home: Path, owner: str, living: Callable[[], Collection[str]]) -> None:
        """``living`` tells the labels of the attempts that somebody runs."""
        self._home = home
        self._owner = owner
        self._living = living
        self._asked = asyncio.Event()

    def soon(self) -> None:
        """An attempt ended without clearing up."""
        self._asked.set()

    async def run(self) -> None:
        """Sweep until cancelled."""
        again = False
        while True:
            await self._sweep()
            wait = AGAIN_SECONDS if again else PERIOD_SECONDS
            again = False
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._asked.wait()
                    self._asked.clear()
                    again = True

    async def finish(self) -> None:
        """The last sweep of a worker that runs nothing any more; the shared network goes with its last user."""
        try:
            async with asyncio.timeout(LAST_SECONDS):
                await self._sweep()
                kept = await release_network()
        except (TimeoutError, EngineDidNotAnswer) as error:
            kept = str(error) or f"there was no time left after {LAST_SECONDS:g} s"
        if kept is not None:
            log.info("the shared network stays on the engine", reason=kept)

    async def _sweep(self) -> None:
        try:
            for project in await sweep(self._owner, self._living):
                LEAKS.inc()
                log.warning("removed what a dead attempt left on the engine", project=project)
            for image in await evict(self._home, unused_seconds=IMAGE_KEPT_SECONDS):
                log.info("removed the image of a task that was not run for long", image=image)
        except EngineDidNotAnswer as error:
            log.warning("the engine was not swept", error=str(error))
