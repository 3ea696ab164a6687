"""Live transcripts of all attempts of a worker: read and stored together, more often where somebody follows.

Nothing here fails a trial or holds it up: what goes wrong is logged and counted.
"""

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncIterator, Callable, Sequence

import structlog
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.queue.claim import Claim
from oddish.settings import Settings
from oddish.trials.progress import record
from oddish.worker.folders import Place
from oddish.worker.metrics import LIVE_DROPPED, LIVE_EVENTS, LIVE_FAILURES
from oddish.worker.pace import Pace
from oddish.worker.persistence import passing
from oddish.worker.tail import Spend, Tail

WRITTEN_AT_ONCE = 500
"""Events of one attempt in one transaction."""
WRITE_SECONDS = 10.0
LAST_SECONDS = 3.0
"""How long the end of an attempt waits for the last of its transcript."""
MOST_FAILURES = 5
"""In a row, after which an attempt is no longer followed."""
LONGEST_PAUSE_SECONDS = 15.0

log = structlog.get_logger()


class LiveLogs:
    """Follows attempts while they run."""

    def __init__(self, settings: Settings, database: AsyncEngine) -> None:
        self._settings = settings
        # A worker that freezes within a transaction would keep others from taking its attempts over.
        self._database = database.execution_options(isolation_level="AUTOCOMMIT")
        self._pace: Pace[Tail] = Pace(
            followed=settings.live_interval_seconds, unfollowed=settings.live_unfollowed_interval_seconds
        )
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        self._pause = 0.0
        self._writable_at = 0.0

    @contextlib.asynccontextmanager
    async def follow(
        self,
        claim: Claim,
        agent: str,
        place: Place,
        *,
        redact: Callable[[str], str],
        spend: Spend,
        closely: bool = False,
    ) -> AsyncIterator[Tail]:
        """Store what the agent writes to ``place``, and spends, until the context is left, and then the rest of it.

        It is looked at often if somebody follows it, or ``closely`` is wanted. Nothing more is stored when the context
        is left by cancellation: the claim may be lost.
        """
        tail = Tail(
            claim,
            agent,
            place,
            redact=redact,
            spend=spend,
            max_events=self._settings.live_max_events,
            hurry=lambda: self._hurry(tail),
        )
        self._pace.join(tail, claim.subject_id, now=time.monotonic(), closely=closely)
        self._wake.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        try:
            yield tail
        except asyncio.CancelledError:
            self._drop(tail)
            raise
        except BaseException:
            await self._end(tail)
            raise
        await self._end(tail)

    def followed(self, trial_id: str) -> None:
        """Somebody reads along, wherever that trial runs, now or soon."""
        if self._pace.hear(trial_id, now=time.monotonic()):
            self._wake.set()

    def _hurry(self, tail: Tail) -> None:
        if tail in self._pace:
            self._pace.hurry(tail)
            self._wake.set()

    async def _run(self) -> None:
        while self._pace:
            self._wake.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._pace.rest(now=time.monotonic())):
                    await self._wake.wait()
            async with self._turn:
                await self._advance(self._pace.due(now=time.monotonic()))

    async def _end(self, tail: Tail) -> None:
        try:
            async with asyncio.timeout(LAST_SECONDS), self._turn:
                if tail in self._pace:
                    await self._advance([tail], last=True)
        except TimeoutError:
            self._failed(tail, "end", "no time left")
        finally:
            self._drop(tail)

    def _drop(self, tail: Tail) -> None:
        if tail in self._pace:
            self._pace.leave(tail)
            self._wake.set()
            LIVE_DROPPED.labels("event").inc(len(tail.pending))

    async def _advance(self, tails: Sequence[Tail], *, last: bool = False) -> None:
        began = time.monotonic()
        if stirring := [tail for tail in tails if last or tail.stirs()]:
            for tail, error in await asyncio.to_thread(_read, stirring, last):
                self._failed(tail, "read", repr(error))
        news = {tail for tail in tails if self._has_news(tail)}
        while time.monotonic() >= self._writable_at and (waiting := [tail for tail in tails if self._has_news(tail)]):
            await self._write(waiting)
        ended = time.monotonic()
        for tail in tails:
            if tail in self._pace:
                self._pace.looked(tail, began=began, ended=ended, news=tail in news, behind=tail.behind)

    def _has_news(self, tail: Tail) -> bool:
        return tail in self._pace and bool(tail.pending or tail.checkpoint)

    async def _write(self, tails: Sequence[Tail]) -> None:
        batch = {tail.claim: list(itertools.islice(tail.pending, WRITTEN_AT_ONCE)) for tail in tails}
        spent = {tail.claim: due for tail in tails if (due := tail.checkpoint) is not None}
        try:
            async with asyncio.timeout(WRITE_SECONDS), self._database.connect() as connection:
                owning = await record(connection, batch, spent)
        except (SQLAlchemyError, TimeoutError) as error:
            await self._not_written(tails, error)
            return
        self._pause = self._writable_at = 0.0
        for tail in tails:
            if tail.claim in owning:
                tail.stored(len(batch[tail.claim]), spent.get(tail.claim))
                tail.failures = 0
                LIVE_EVENTS.inc(len(batch[tail.claim]))
            else:
                log.warning("live transcript ended: its attempt is no longer ours", trial_id=tail.claim.subject_id)
                self._drop(tail)

    async def _not_written(self, tails: Sequence[Tail], error: Exception) -> None:
        """The database may be away, which is waited for; else one of the attempts has what cannot be stored."""
        if not isinstance(error, DBAPIError) or passing(error):
            LIVE_FAILURES.labels("write").inc()
            self._pause = min(max(2 * self._pause, self._settings.live_interval_seconds), LONGEST_PAUSE_SECONDS)
            self._writable_at = time.monotonic() + self._pause
            log.warning("live transcripts wait for the database", error=repr(error), again_in=self._pause)
        elif len(tails) > 1:
            for tail in tails:
                await self._write([tail])
        else:
            [tail] = tails
            tail.stored(min(len(tail.pending), WRITTEN_AT_ONCE), tail.spent)
            self._failed(tail, "write", str(error.orig))

    def _failed(self, tail: Tail, what: str, error: str) -> None:
        LIVE_FAILURES.labels(what).inc()
        tail.failures += 1
        log.warning("live transcript", trial_id=tail.claim.subject_id, failed=what, error=error, times=tail.failures)
        if tail.failures >= MOST_FAILURES:
            self._drop(tail)


def _read(tails: Sequence[Tail], last: bool) -> list[tuple[Tail, Exception]]:
    """Which of them could not be read, and why."""
    failed: list[tuple[Tail, Exception]] = []
    for tail in tails:
        try:
            tail.read(last=last)
        except Exception as error:  # noqa: BLE001 - a defect in reading a transcript is no defect of its trial
            failed.append((tail, error))
    return failed
