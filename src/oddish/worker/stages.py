"""How far an attempt is, as others see it while it runs."""

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

SETTLE_SECONDS = 0.2
"""A stage that is over sooner is not worth a transaction: nobody would see it."""


class Stages:
    """Records the newest stage in the background, a moment after it began; as a context, until the attempt is over.

    ``record`` stores one stage and raises nothing.
    """

    def __init__(
        self, record: Callable[[str], Awaitable[None]], sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._record = record
        self._sleep = sleep
        self._newest: str | None = None
        self._recorded: str | None = None
        self._recording = False
        self._over = False
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over = True
        if self._task is None:
            return
        if isinstance(error, asyncio.CancelledError) or not self._recording:
            self._task.cancel()
        await asyncio.wait([self._task])

    def show(self, stage: str) -> None:
        self._newest = stage
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        while self._newest is not None and self._newest != self._recorded and not self._over:
            await self._sleep(SETTLE_SECONDS)
            stage, self._recording = self._newest, True
            await self._record(stage)
            self._recorded, self._recording = stage, False
