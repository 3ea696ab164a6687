"""Answers that may be a few seconds old, so that many who ask cost as much as one."""

import asyncio
import time
from collections.abc import Awaitable, Callable


class Recent[T]:
    """What ``read`` found, kept for ``seconds``. Those who ask while it is being read get what comes of that."""

    def __init__(
        self, read: Callable[[], Awaitable[T]], *, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._read = read
        self._seconds = seconds
        self._clock = clock
        self._reading = asyncio.Lock()
        self._kept: tuple[float, T] | None = None

    async def get(self) -> T:
        async with self._reading:
            if self._kept is None or self._clock() - self._kept[0] >= self._seconds:
                self._kept = (self._clock(), await self._read())
            return self._kept[1]
