"""What the tests of the engine share beside their fixtures."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import psutil

from oddish.engine.protocol import Run

type MakeTask = Callable[..., Path]
type MakeRun = Callable[..., Run]


async def until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait for something outside this process to become true."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  no event of ours
            await asyncio.sleep(0.01)


def family(pid: int) -> list[psutil.Process]:
    """A process and everything below it."""
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def running(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that still run."""
    return [item for item in processes if item.is_running() and item.status() != psutil.STATUS_ZOMBIE]
