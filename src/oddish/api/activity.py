"""When somebody last used the local stack, which stops itself when nobody does."""

import time
from pathlib import Path

INTERVAL_SECONDS = 5.0


class ActivityMark:
    """A file whose modification time is that of the last use, give or take the interval."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._next = 0.0

    def touch(self) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + INTERVAL_SECONDS
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._path.touch()
