"""Reading what commands write: while they run for their caller, afterwards only so that nothing blocks."""

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from typing import Literal

from oddish.sandbox.capture import Capture, Lines

type Stream = Literal["stdout", "stderr"]
type OutputLine = Callable[[str, Stream], Awaitable[None]]

_CHUNK = 64 * 1024


class Streams:
    """The read ends of pipes of one sandbox."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._drains: set[int] = set()

    async def pump(
        self,
        descriptor: int,
        ended: asyncio.Future[int],
        capture: Capture,
        name: Stream,
        on_line: OutputLine | None,
    ) -> None:
        """Read until the end of the stream, or until the command has ended and nothing more is waiting."""
        os.set_blocking(descriptor, False)
        lines = Lines()
        at_end = False
        try:
            while not at_end:
                is_last = ended.done()
                try:
                    data = os.read(descriptor, _CHUNK)
                except BlockingIOError:
                    if is_last:
                        break
                    await self._readable(descriptor, ended)
                    continue
                at_end = not data
                capture.feed(data)
                if on_line:
                    for line in lines.feed(data):
                        await on_line(line.decode(errors="replace"), name)
            if on_line:
                for line in lines.close():
                    await on_line(line.decode(errors="replace"), name)
        finally:
            if at_end:
                os.close(descriptor)
            else:
                self._drain(descriptor)

    async def _readable(self, descriptor: int, ended: asyncio.Future[int]) -> None:
        ready = asyncio.Event()

        def wake(_: object = None) -> None:
            ready.set()

        self._loop.add_reader(descriptor, wake)
        ended.add_done_callback(wake)
        try:
            await ready.wait()
        finally:
            self._loop.remove_reader(descriptor)
            ended.remove_done_callback(wake)

    def _drain(self, descriptor: int) -> None:
        """Keep reading what a background process still writes, so that it neither blocks nor dies of a closed pipe."""
        self._drains.add(descriptor)

        def discard() -> None:
            with contextlib.suppress(BlockingIOError):
                if not os.read(descriptor, _CHUNK):
                    self._close(descriptor)

        self._loop.add_reader(descriptor, discard)

    def _close(self, descriptor: int) -> None:
        self._loop.remove_reader(descriptor)
        self._drains.discard(descriptor)
        os.close(descriptor)

    def close(self) -> None:
        """Stop reading what is left."""
        for descriptor in list(self._drains):
            self._close(descriptor)
