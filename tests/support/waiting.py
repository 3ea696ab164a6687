"""Waiting for what other threads, processes and machines do."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable

from oddish import Client
from oddish.client.types import Trial


def eventually[Found](condition: Callable[[], Found], seconds: float = 120.0, *, pause: float = 0.02) -> Found:
    """What ``condition`` finds once it is true, within ``seconds`` seconds; asked every ``pause`` seconds."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"it did not happen within {seconds:g} s"
        time.sleep(pause)
    return found


async def until[Found](
    condition: Callable[[], Awaitable[Found]] | Callable[[], Found], seconds: float = 60.0, *, pause: float = 0.02
) -> Found:
    """The same beside other tasks of the loop; ``condition`` may wait, too."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if inspect.isawaitable(found):
            found = await found
        if found:
            return found
        assert time.monotonic() < deadline, f"it did not happen within {seconds:g} s"
        await asyncio.sleep(pause)


def ended(client: Client, *trial_ids: str) -> list[Trial]:
    """These trials once all of them have ended."""
    return (
        eventually(
            lambda: (
                (found := [client.trial(trial_id) for trial_id in trial_ids])
                and all(trial["status"] in ("success", "failed") for trial in found)
                and found
            )
        )
        or []
    )
