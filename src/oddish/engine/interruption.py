"""What ends an attempt from outside: the worker's Cancel, the worker's death, the total deadline.

A thread watches, because the event loop of a trial may be blocked by an import, a hash or a hung library call.
"""

import math
import os
import select
import signal
import threading
import time
from collections.abc import Callable
from typing import Literal

from oddish.engine.connection import Connection

DEADLINE_GRACE_SEC = 60.0

type Cause = Literal["cancel", "deadline"]


class Interruption:
    """Asks once for an orderly end and remembers why; ends the process group when that is all that is left."""

    def __init__(
        self,
        connection: Connection,
        *,
        deadline_sec: float,
        grace_sec: float = DEADLINE_GRACE_SEC,
        ask: Callable[[], object],
        last_words: Callable[[], object],
    ) -> None:
        """``ask`` and ``last_words`` are called on the watching thread; the second one just before the end by force.

        That comes ``grace_sec`` after the deadline was noticed: a machine that was asleep gives no less grace.
        """
        self._connection = connection
        self._deadline = time.monotonic() + deadline_sec
        self._grace = grace_sec
        self._ask = ask
        self._last_words = last_words
        self.cause: Cause | None = None

    def start(self) -> None:
        """Begin to watch."""
        threading.Thread(target=self._watch, name="interruption", daemon=True).start()

    def _watch(self) -> None:
        force = math.inf
        while True:
            now = time.monotonic()
            if now >= force:
                self._last_words()
                end_process_group()
            if now >= self._deadline and force == math.inf:
                force = now + self._grace
                self._interrupt("deadline")
            until = self._deadline if force == math.inf else force
            readable, _, _ = select.select([self._connection.sock], [], [], until - now)
            if not readable:
                continue
            messages = self._connection.receive()
            if messages is None:
                end_process_group()
            elif any(message["type"] == "cancel" for message in messages):
                self._interrupt("cancel")

    def _interrupt(self, cause: Cause) -> None:
        if self.cause is None:
            self.cause = cause
            self._ask()


def end_process_group() -> None:
    """Kill this process and everything in its group, now."""
    os.killpg(0, signal.SIGKILL)
