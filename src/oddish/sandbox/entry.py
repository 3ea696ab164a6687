"""The entry point of an image: a program that runs beside the commands for as long as the sandbox lives."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from oddish.sandbox.failures import CommandFailed
from oddish.sandbox.sandbox import Sandbox
from oddish.sandbox.spec import Command
from oddish.sandbox.streams import OutputLine

_PATIENCE_SECONDS = 2.0
"""What an engine takes to start a container, and more than an entry script takes before it hands over."""
_POLL_SECONDS = 0.01
_HANDED_OVER = (b"sh\0-c\0sleep infinity\0", b"sleep\0infinity\0")
_OUTPUT_BYTES = 64 * 1024


class EntryPoint:
    """Runs until the sandbox stops; its end is told to ``on_end`` with its exit code."""

    def __init__(self, sandbox: Sandbox, command: Command, on_line: OutputLine, on_end: Callable[[int], None]) -> None:
        self._sandbox = sandbox
        self._command = command
        self._on_line = on_line
        self._on_end = on_end
        self._pid: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        done = await self._sandbox.run(
            self._command, on_line=self._on_line, output_limit=_OUTPUT_BYTES, on_start=self._pid.set_result
        )
        self._on_end(done.code)

    async def ready(self) -> None:
        """Return once it has handed over to the command it was given, has ended, or takes long.

        Raises ``CommandFailed`` when it cannot be started.
        """
        either: list[asyncio.Future[Any]] = [self._task, self._pid]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not self._pid.done():
            await self._task
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not self._task.done() and time.monotonic() < deadline and not self._has_handed_over():
            await asyncio.wait([self._task], timeout=_POLL_SECONDS)

    def _has_handed_over(self) -> bool:
        with contextlib.suppress(OSError):
            return Path(f"/proc/{self._pid.result()}/cmdline").read_bytes() in _HANDED_OVER
        return False

    async def close(self) -> None:
        """Forget it; the sandbox's end is its end."""
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError, CommandFailed):
            await self._task
