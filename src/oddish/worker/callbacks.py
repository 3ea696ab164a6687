"""Sends what is owed to the callbacks of gateway jobs. Any worker sends any message."""

import asyncio
import contextlib
import json
import random
import time
from dataclasses import asdict

import structlog
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.errors import OddishError
from oddish.gateway.addresses import AllowedHosts
from oddish.gateway.callbacks import Answer, Attempted, Callback, callback_of, judged
from oddish.gateway.deliveries import Due, claim, next_due, settle
from oddish.gateway.messages import POST_SECONDS, UPLOAD_SECONDS, compose
from oddish.gateway.outgoing import Outgoing
from oddish.gateway.resolution import system_resolver
from oddish.gateway.sending import send
from oddish.keyring import Keyring
from oddish.storage.store import ArtifactStore
from oddish.worker.metrics import CALLBACKS
from oddish.worker.persistence import insist

log = structlog.get_logger()

AT_ONCE = 8
PERIOD_SECONDS = 30.0
LEAST_PAUSE_SECONDS = 0.2
MARGIN_SECONDS = 60.0
"""How much longer than it may take a message is ours."""
LAST_SECONDS = 5.0
"""How long a worker that stops takes to give back what it was sending."""


class Callbacks:
    """One worker's share of the sending."""

    def __init__(
        self, database: AsyncEngine, store: ArtifactStore, keyring: Keyring, allowed: AllowedHosts, rng: random.Random
    ) -> None:
        # A worker that freezes between two statements of a transaction would keep others from what it has locked.
        self._database = database.execution_options(isolation_level="AUTOCOMMIT")
        self._store = store
        self._keyring = keyring
        self._allowed = allowed
        self._rng = rng
        self._asked = asyncio.Event()
        self._sending: set[asyncio.Task[None]] = set()

    def soon(self) -> None:
        """Something may be owed."""
        self._asked.set()

    async def run(self) -> None:
        """Send until cancelled."""
        try:
            while True:
                self._asked.clear()
                wait = PERIOD_SECONDS
                try:
                    while len(self._sending) < AT_ONCE and (due := await self._claim()) is not None:
                        self._begin(due)
                    if len(self._sending) < AT_ONCE:
                        wait = await self._until_next()
                except (SQLAlchemyError, OSError) as error:
                    log.warning("callbacks wait for the database", error=str(error))
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await self._asked.wait()
        finally:
            await self._give_back()

    def _begin(self, due: Due) -> None:
        task = asyncio.create_task(self._deliver(due), name=due.message_id)
        self._sending.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._sending.discard(task)
        self.soon()

    async def _give_back(self) -> None:
        for _ in range(2):
            for task in self._sending:
                task.cancel()
            if self._sending:
                await asyncio.wait(self._sending, timeout=LAST_SECONDS)

    async def _claim(self) -> Due | None:
        async with self._database.connect() as connection:
            return await claim(
                connection, post_seconds=POST_SECONDS + MARGIN_SECONDS, upload_seconds=UPLOAD_SECONDS + MARGIN_SECONDS
            )

    async def _until_next(self) -> float:
        async with self._database.connect() as connection:
            due = await next_due(connection)
        return PERIOD_SECONDS if due is None else min(max(due, LEAST_PAUSE_SECONDS), PERIOD_SECONDS)

    async def _deliver(self, due: Due) -> None:
        began = time.monotonic()
        try:
            callback = self._callback(due)
            message = await compose(due, self._database, self._store)
            async with Outgoing.open(self._allowed, system_resolver) as outgoing:
                came: Answer | Exception = await send(outgoing, callback, message)
        except asyncio.CancelledError:
            given_back = Attempted("postponed", time.monotonic() - began, error="The worker was stopped.", pause=0.0)
            await self._settle(due, given_back)
            raise
        except OddishError as error:
            came = error
        except Exception as error:
            log.exception("callback not sent", message=due.message_id)
            came = error
        seconds = time.monotonic() - began
        await self._settle(due, judged(due.attempt, came, seconds=seconds, chance=self._rng.random()))

    def _callback(self, due: Due) -> Callback:
        request = None if due.ciphertext is None else json.loads(self._keyring.decrypt(due.ciphertext))
        return callback_of(request, due.kind, due.place)

    async def _settle(self, due: Due, attempted: Attempted) -> None:
        kept = await insist(self._database, lambda connection: settle(connection, due, attempted))
        CALLBACKS.labels(due.kind, attempted.result if kept else "refused").inc()
        tell = log.info if attempted.result == "delivered" else log.warning
        said = {name: value for name, value in asdict(attempted).items() if value is not None}
        tell("callback", message=due.message_id, kept=kept, **said)
