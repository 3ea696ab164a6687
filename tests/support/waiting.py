"""Waiting for what other processes do."""

import time
from collections.abc import Callable


def eventually[Found](condition: Callable[[], Found], timeout: float = 120.0) -> Found:
    """What ``condition`` finds once it is true, within ``timeout`` seconds."""
    deadline = time.monotonic() + timeout
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)
    return found
