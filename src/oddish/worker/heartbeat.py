"""The heartbeat: a thread of its own that renews the worker's lease whatever the job loop is doing."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence

import structlog
from sqlalchemy.exc import SQLAlchemyError

from oddish.db.engine import connect
from oddish.queue.lease import Owned, renew
from oddish.settings import Settings

log = structlog.get_logger()

FENCE_MARGIN_SECONDS = 5.0
"""How long before its lease ends a worker that cannot renew stops its children."""


class Lease:
    """How long this worker may trust that nobody else runs its jobs, by its own monotonic clock. Pure."""

    def __init__(self, seconds: float, *, now: float) -> None:
        self._seconds = seconds
        self._renewed_at = now

    def renewed(self, *, asked_at: float) -> None:
        """A renewal that was asked for at ``asked_at`` has been granted; the lease counts from the asking."""
        self._renewed_at = asked_at

    def remaining(self, *, now: float) -> float:
        return self._renewed_at + self._seconds - now

    def must_stop(self, *, now: float) -> bool:
        return self.remaining(now=now) <= FENCE_MARGIN_SECONDS


class Heartbeat:
    """Beats until stopped. Callbacks run in the heartbeat's thread and must not block.

    ``on_beat`` follows every renewal with what the worker still owns; ``on_fenced`` is called once, when the lease was
    lost or is about to end without a renewal, after which nothing beats any more. ``declines`` says why the worker
    claims nothing, if so.
    """

    def __init__(
        self,
        settings: Settings,
        worker_id: str,
        *,
        on_beat: Callable[[Sequence[Owned]], object],
        on_fenced: Callable[[str], object],
        declines: Callable[[], str | None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._worker_id = worker_id
        self._on_beat = on_beat
        self._on_fenced = on_fenced
        self._declines = declines
        self._clock = clock
        self._stopping = threading.Event()
        self._nudged = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self.lease = Lease(settings.lease_seconds, now=clock())

    def start(self) -> None:
        self._thread.start()

    def nudge(self) -> None:
        """Beat now: a cancellation waits to be seen, or the worker has something to say."""
        self._nudged.set()

    def stop(self) -> None:
        self._stopping.set()
        self._nudged.set()
        self._thread.join(timeout=self._settings.heartbeat_seconds)

    def _run(self) -> None:
        asyncio.run(self._beat_until_stopped())

    async def _beat_until_stopped(self) -> None:
        structlog.contextvars.bind_contextvars(worker=self._worker_id)
        engine = connect(self._settings.database_url, role="heartbeat", pool_size=1)
        try:
            while not self._stopping.is_set():
                asked_at = self._clock()
                try:
                    async with asyncio.timeout(self._settings.heartbeat_seconds), engine.begin() as connection:
                        mine = await renew(
                            connection,
                            self._worker_id,
                            lease_seconds=self._settings.lease_seconds,
                            declines=self._declines(),
                        )
                except (SQLAlchemyError, OSError, TimeoutError) as error:
                    log.warning("heartbeat failed", error=str(error), lease_left=round(self._remaining(), 1))
                else:
                    if mine is None:
                        self._on_fenced("its lease had ended")
                        return
                    self.lease.renewed(asked_at=asked_at)
                    self._on_beat(mine)
                if self.lease.must_stop(now=self._clock()):
                    self._on_fenced("its lease could not be renewed in time")
                    return
                self._nudged.wait(self._settings.heartbeat_seconds)
                self._nudged.clear()
        finally:
            await engine.dispose()

    def _remaining(self) -> float:
        return self.lease.remaining(now=self._clock())
