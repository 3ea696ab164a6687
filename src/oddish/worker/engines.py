"""The engines of one worker: the Harbor it came with, and others while trials ask for them."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from oddish.engine.client import EngineUnavailable, ForkServer
from oddish.variants.building import VariantUnbuildable, build
from oddish.variants.reference import Reference

log = structlog.get_logger()

IDLE_SECONDS = 600.0
"""How long the engine of another Harbor stays loaded after its last attempt."""


@dataclass
class _Loaded:
    server: ForkServer
    users: int = 0
    idle_since: float = field(default_factory=time.monotonic)


class Engines:
    """Fork servers by what they run. Those of other Harbors are built, started and ended on demand."""

    def __init__(self, own: ForkServer, directory: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.own = own
        self._directory = directory
        self._clock = clock
        self._loaded: dict[Reference, _Loaded] = {}
        self._turns: dict[Reference, asyncio.Lock] = {}

    @asynccontextmanager
    async def engine(self, reference: Reference | None) -> AsyncIterator[ForkServer]:
        """A running fork server of ``reference``, None being the worker's own, for as long as the context lasts.

        Raises ``VariantUnbuildable`` for a Harbor that cannot be installed or driven, ``Unavailable`` for an outage,
        and ``EngineUnavailable`` for the worker's own engine only.
        """
        if reference is None:
            await self.own.start()
            yield self.own
            return
        async with self._turns.setdefault(reference, asyncio.Lock()):
            loaded = self._loaded.get(reference)
            if loaded is None:
                python = await build(reference, self._directory)
                loaded = self._loaded[reference] = _Loaded(ForkServer(python=str(python)))
            loaded.users += 1
        try:
            await _start(loaded.server, reference)
            yield loaded.server
        finally:
            loaded.users -= 1
            loaded.idle_since = self._clock()

    async def end_idle(self) -> None:
        """End the engines that no attempt has used for a while."""
        now = self._clock()
        for reference, loaded in list(self._loaded.items()):
            if not loaded.users and now - loaded.idle_since >= IDLE_SECONDS:
                del self._loaded[reference]
                await loaded.server.close()

    async def close(self) -> None:
        """End all of them."""
        for loaded in self._loaded.values():
            await loaded.server.close()
        self._loaded.clear()
        await self.own.close()


async def _start(server: ForkServer, reference: Reference) -> None:
    try:
        hello = await server.start()
    except EngineUnavailable as error:
        raise VariantUnbuildable(
            f"Harbor from {reference.requirement} cannot be driven by this worker: {error}",
            fix="Choose a version nearer to the worker's own.",
        ) from error
    log.info("engine ready", engine=hello["engine"], source=reference.source, sha=reference.sha)
