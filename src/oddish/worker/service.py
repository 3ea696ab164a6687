"""The worker process: claims while it has room, watches its lease, stops in good order."""

import asyncio
import contextlib
import functools
import os
import random
import secrets
import socket
import time
from collections.abc import Sequence, Set

import psycopg
import structlog
from sqlalchemy.exc import SQLAlchemyError

from oddish import __version__
from oddish.db.ciphertexts import check_secret_key
from oddish.db.engine import connect
from oddish.db.notices import notices
from oddish.db.schema import check_schema
from oddish.db.url import plain
from oddish.engine.client import EngineUnavailable, ForkServer, curated_environment
from oddish.engine.protocol import Hello
from oddish.errors import OddishError
from oddish.gateway.deliveries import CHANNEL as CALLBACKS_CHANNEL
from oddish.gateway.jobs import ANY_POOL, ARCHIVE
from oddish.keyring import load_keyring
from oddish.metrics import watch_pool
from oddish.pricing import Prices
from oddish.queue.archive import MOVED_AT_A_TIME, archive
from oddish.queue.cancel import CANCEL_CHANNEL
from oddish.queue.claim import Claim, anything_waits, claim
from oddish.queue.enqueue import JOBS_CHANNEL
from oddish.queue.lease import Owned, Publication, Worker, register, retire
from oddish.queue.reap import lose_owned, reap
from oddish.queue.schedule import promote, release_groups
from oddish.room import Shortage, shortage
from oddish.settings import Settings
from oddish.storage.store import ArtifactStore
from oddish.tasks.archive import ArchiveLimits
from oddish.trials.audience import FOLLOWED_CHANNEL
from oddish.trials.catalogue import ANY_HARBOR
from oddish.trials.events import purge
from oddish.trials.ledger import BUDGET_CHANNEL
from oddish.trials.overspending import stop_overspent
from oddish.variants.building import builder
from oddish.worker.callbacks import Callbacks
from oddish.worker.credentials import own_credentials
from oddish.worker.draining import Draining
from oddish.worker.engines import Engines
from oddish.worker.execution import Execution, Services
from oddish.worker.heartbeat import Heartbeat
from oddish.worker.intake import IntakeExecution
from oddish.worker.livelog import LiveLogs
from oddish.worker.metrics import CLAIM_SECONDS, CLAIMS, FENCED, LOST, REAPED, watch
from oddish.worker.persistence import insist
from oddish.worker.providers import offered
from oddish.worker.readiness import readiness_of_worker
from oddish.worker.sweeping import Sweeper
from oddish.worker.taskcache import TaskCache
from oddish.worker.traces import Traces
from oddish.worker.upkeep import FIRST_UPKEEP_SECONDS, UPKEEP_SECONDS, keep_up
from oddish.worker.workspace import Workspace

log = structlog.get_logger()

LEAST_LEASE_TO_CLAIM_SECONDS = 10.0
HOUSEKEEPING_SECONDS = 15.0
HURRIED_HOUSEKEEPING_SECONDS = 1.0
"""While there is more to do, and after an execution ended: its next attempt may be due before the usual turn."""
LISTEN_RETRY_SECONDS = 2.0
FORGOTTEN_SECONDS = 10.0
REPORT_GRACE_SECONDS = 20.0
GIVE_BACK_SECONDS = 10.0


class WorkerFenced(Exception):
    """The lease is lost: the process must end and start again as another worker."""


class WorkerService:
    """One process life of a worker."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.id = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        secret_key = settings.secret_key.get_secret_value() if settings.secret_key else None
        keyring = load_keyring(secret_key, settings.home)
        store = ArtifactStore.open(settings.storage_url)
        traces = Traces(settings.tracing)
        self._database = connect(settings.database_url, role="worker")
        # After what may refuse to start: whoever leaves a workspace behind is a worker that died.
        self._workspace = Workspace(settings.home, self.id)
        self._engines = Engines(ForkServer(environ=_engine_environment(settings)), self._workspace.engines)
        # What is in the store was held to the limits of the door that it came through.
        limits = ArchiveLimits(
            max_bytes=max(settings.max_archive_bytes, settings.gateway_max_archive_bytes),
            max_extracted_bytes=max(settings.max_extracted_bytes, settings.gateway_max_extracted_bytes),
            max_entries=max(settings.max_archive_entries, settings.gateway_max_archive_entries),
        )
        self._services = Services(
            settings=settings,
            database=self._database,
            store=store,
            keyring=keyring,
            prices=Prices.read(settings.prices),
            engines=self._engines,
            tasks=TaskCache(self._workspace.tasks, store, limits, max_bytes=settings.task_cache_bytes),
            workspace=self._workspace,
            live=LiveLogs(settings, self._database),
            traces=traces,
            rng=random.Random(),  # noqa: S311 - jitter
            left_behind=lambda: self._sweeper.soon(),
        )
        self._callbacks = Callbacks(self._database, store, keyring, settings.allowed_hosts, self._services.rng)
        self._sweeper = Sweeper(settings.home, self._workspace.owner, self._workspace.living)
        self._executions: dict[tuple[int, int], tuple[Execution | IntakeExecution, asyncio.Task[None]]] = {}
        self._idle_since: dict[tuple[int, int], float] = {}
        self._background: set[asyncio.Task[None]] = set()
        self._seen_owned: Set[tuple[int, int]] = frozenset()
        self._wake = asyncio.Event()
        self._heartbeat: Heartbeat | None = None
        self._draining = Draining(settings.drain_seconds)
        self.readiness = readiness_of_worker(settings, self._database, store, self._engines.own, self._lease_left)
        self._stopping = False
        self._fenced: str | None = None
        self._housekeeping_due = 0.0
        self._short_of_disk: Shortage | None = None
        self._lacks_engine = False
        self._upkeep_due = time.monotonic() + FIRST_UPKEEP_SECONDS
        self._pools: list[str] = []
        self._memory_mb = _physical_memory_mb()

    @property
    def engine_pid(self) -> int | None:
        """Process id of the fork server that was started last."""
        return self._engines.own.pid

    def stop(self) -> None:
        """Claim nothing more, give back what runs, and return from ``run``."""
        self.readiness.drain()
        self._stopping = True
        self._wake.set()

    def drain(self) -> None:
        """Claim nothing more, and return from ``run`` when what runs has ended or, after a while, was given back.

        Asked again, do as ``stop`` does.
        """
        self.readiness.drain()
        self._draining.begin(now=time.monotonic())
        patience = self._draining.remaining(now=time.monotonic())
        log.info("draining", worker=self.id, executions=len(self._executions), seconds=round(patience, 1))
        self._wake.set()
        self._say()

    async def run(self) -> None:
        """Work until stopped. Raises ``WorkerFenced``, and ``EngineUnavailable`` when the engine cannot start."""
        loop = asyncio.get_running_loop()
        heartbeat = Heartbeat(
            self._settings,
            self.id,
            on_beat=lambda mine: loop.call_soon_threadsafe(self._on_beat, mine),
            on_fenced=lambda reason: loop.call_soon_threadsafe(self._on_fenced, reason),
            declines=self._declines,
        )
        structlog.contextvars.bind_contextvars(worker=self.id)
        watch_pool(self._database)
        watch(self._settings.worker_concurrency, running=lambda: len(self._executions), lease=self._lease_left)
        try:
            await insist(self._database, check_schema)
            keyring, home = self._services.keyring, self._settings.home
            await insist(self._database, lambda connection: check_secret_key(connection, keyring, home, who="worker"))
            dead = await asyncio.to_thread(self._workspace.sweep)
            hello = await self._engines.own.start()
            # First: what a dead worker of this machine offered is no reason to offer it still.
            await self._bury(dead)
            await self._announce(hello)
            log.info("worker ready", pools=self._pools)
            heartbeat.start()
            self._heartbeat = heartbeat
            listener = asyncio.create_task(self._listen(heartbeat))
            callbacks = asyncio.create_task(self._callbacks.run())
            docker = any(pool.startswith("docker@") for pool in self._pools)
            sweeping = asyncio.create_task(self._sweeper.run()) if docker else None
            try:
                await self._work(heartbeat)
            finally:
                listener.cancel()
                callbacks.cancel()
                await self._end_executions()
                await asyncio.wait([callbacks])
                if sweeping is not None:
                    sweeping.cancel()
                    await self._sweeper.finish()
                await asyncio.to_thread(heartbeat.stop)
                await self._retire()
        finally:
            await self.close()
        if self._fenced is not None:
            raise WorkerFenced(self._fenced)

    async def close(self) -> None:
        """End as if it had never begun; for a worker that does not come to ``run``, which does it itself."""
        await self._engines.close()
        await asyncio.to_thread(self._workspace.close)
        await asyncio.to_thread(self._services.traces.close)
        await self._database.dispose()

    async def _announce(self, hello: Hello) -> None:
        usable, reasons = offered(self._settings, hello)
        engines = [hello["engine"], *([ANY_HARBOR] if builder() is not None else [])]
        self._pools = [ANY_POOL, *(f"{name}@{engine}" for engine in engines for name in usable)]
        worker = Worker(
            id=self.id,
            hostname=socket.gethostname(),
            pid=os.getpid(),
            version=__version__,
            pools=self._pools,
            cpus=os.cpu_count() or 1,
            memory_mb=self._memory_mb,
            concurrency=self._settings.worker_concurrency,
            credentials=sorted(own_credentials(self._settings.worker_credentials)),
        )
        publications = [
            Publication(
                pool=f"{name}@{engine}",
                environment=name,
                engine=engine,
                preference=rank,
                agents=[{"name": agent["name"], "needs_model": agent["needs_model"]} for agent in hello["agents"]],
                reason=reasons.get(name),
                credentials=hello.get("credentials"),
            )
            for engine in engines
            for rank, name in enumerate([*usable, *reasons])
        ]
        await insist(
            self._database,
            lambda connection: register(connection, worker, publications, lease_seconds=self._settings.lease_seconds),
        )

    async def _bury(self, dead: Sequence[str]) -> None:
        """Whoever let go of its lock on this machine needs no lease to be known dead."""
        for worker_id in dead:
            log.warning("a worker of this machine died", dead=worker_id)
            await insist(self._database, functools.partial(retire, worker_id=worker_id))

    def _lease_left(self) -> float:
        return self._heartbeat.lease.remaining(now=time.monotonic()) if self._heartbeat is not None else 0.0

    async def _work(self, heartbeat: Heartbeat) -> None:
        called = True
        while not self._is_over():
            self._wake.clear()
            wait = self._settings.poll_seconds
            try:
                wait = min(wait, await self._keep_house())
                free = self._settings.worker_concurrency - len(self._executions)
                leased = heartbeat.lease.remaining(now=time.monotonic()) > LEAST_LEASE_TO_CLAIM_SECONDS
                able = free > 0 and leased and not self._draining.begun and self._has_room()
                claims = await self._claim(free, called=called) if able else []
            except EngineUnavailable as error:
                log.error("nothing is claimed without an engine", error=str(error))
                self._note_engine(lacks=True)
                claims = []
            except (SQLAlchemyError, OSError, OddishError) as error:
                log.warning("queue not reached", error=str(error))
                claims = []
            for held in claims:
                self._start(held)
            called = bool(claims) or await self._called(min(wait, self._draining.remaining(now=time.monotonic())))

    async def _called(self, seconds: float) -> bool:
        """Wait for so long, or until something happens; whether it did."""
        try:
            async with asyncio.timeout(seconds):
                return await self._wake.wait()
        except TimeoutError:
            return False

    async def _anything_waits(self) -> bool:
        async with self._database.begin() as connection:
            return await anything_waits(connection, self._pools)

    def _declines(self) -> str | None:
        """Why nothing is claimed, whatever there is."""
        if self._draining.begun:
            return "is about to end"
        if self._short_of_disk is not None:
            return self._short_of_disk.phrase
        return "cannot start its Harbor engine; its log says why" if self._lacks_engine else None

    def _say(self) -> None:
        """What others should know of this worker has changed."""
        if self._heartbeat is not None:
            self._heartbeat.nudge()

    def _note_engine(self, *, lacks: bool) -> None:
        if lacks != self._lacks_engine:
            self._lacks_engine = lacks
            self._say()

    def _has_room(self) -> bool:
        """Whether the disk has enough left for another trial; a change is logged."""
        short, was = shortage(self._settings.home), self._short_of_disk
        self._short_of_disk = short
        if (short is None) != (was is None):
            self._say()
            if short:
                log.warning(
                    "nothing is claimed until the disk has room", free_bytes=short.free, directory=str(short.directory)
                )
            else:
                log.info("the disk has room again")
        return short is None

    async def _claim(self, slots: int, *, called: bool) -> list[Claim]:
        """Uncalled, it looks first whether there is anything: claims wait for each other."""
        await self._engines.own.start()
        self._note_engine(lacks=False)
        if not called and not await self._anything_waits():
            return []
        reserved = sum(execution.claim.memory_mb for execution, _ in self._executions.values())
        with CLAIM_SECONDS.time():
            async with self._database.begin() as connection:
                return await claim(
                    connection,
                    worker_id=self.id,
                    pools=self._pools,
                    slots=slots,
                    memory_mb=self._memory_mb - reserved,
                )

    async def _keep_house(self) -> float:
        """Promote what is due, take back what the dead left, put away what has ended; seconds until the next turn."""
        now = time.monotonic()
        if now < self._housekeeping_due:
            return self._housekeeping_due - now
        async with self._database.begin() as connection:
            while taken := await reap(connection):
                REAPED.inc()
                LOST.labels("worker").inc(taken)
                log.warning("took back the jobs of a dead worker", jobs=taken)
        async with self._database.begin() as connection:
            next_due = await promote(connection)
        async with self._database.begin() as connection:
            await release_groups(connection)
        await stop_overspent(self._database)
        async with self._database.begin() as connection:
            put_away = await archive(connection)
        async with self._database.begin() as connection:
            await purge(connection)
        await self._engines.end_idle()
        if now >= self._upkeep_due:
            self._upkeep_due = now + UPKEEP_SECONDS
            await keep_up(
                self._database, self._services.store, finished_job_days=self._settings.finished_job_retention_days
            )
        turn = HOUSEKEEPING_SECONDS if put_away < MOVED_AT_A_TIME else HURRIED_HOUSEKEEPING_SECONDS
        turn = turn if next_due is None else min(next_due + 0.05, turn)
        self._housekeeping_due = time.monotonic() + turn
        return turn

    def _is_over(self) -> bool:
        running = len(self._executions)
        self._stopping = self._stopping or self._draining.due(now=time.monotonic(), running=running)
        return self._stopping or self._fenced is not None

    def _start(self, held: Claim) -> None:
        CLAIMS.labels(held.kind).inc()
        of_kind = IntakeExecution if held.kind == ARCHIVE else Execution
        execution = of_kind(held, self._services)
        task = asyncio.create_task(execution.run(), name=held.label)
        self._executions[(held.id, held.epoch)] = (execution, task)
        task.add_done_callback(lambda ended: self._on_ended(held, ended))

    def _on_ended(self, held: Claim, task: asyncio.Task[None]) -> None:
        if not self._stopping and self._fenced is None:
            self._executions.pop((held.id, held.epoch), None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("execution failed", label=held.label, exc_info=error)
        self._housekeeping_due = min(self._housekeeping_due, time.monotonic() + HURRIED_HOUSEKEEPING_SECONDS)
        self._wake.set()

    def _on_beat(self, mine: Sequence[Owned]) -> None:
        owned = {(entry.id, entry.epoch): entry for entry in mine}
        self._lose_what_nobody_runs(owned.keys() - self._executions.keys())
        for key, (execution, task) in self._executions.items():
            entry = owned.get(key)
            if entry is None:
                # A claim younger than the beat's look at the database is not in it yet.
                if key in self._seen_owned and not execution.over:
                    log.warning("execution is no longer ours", label=execution.claim.label)
                    task.cancel()
            elif entry.cancel_requested:
                execution.cancel()
        self._seen_owned = owned.keys() & self._executions.keys()

    def _lose_what_nobody_runs(self, idle: Set[tuple[int, int]]) -> None:
        """A job that is ours and has had no execution for a while was forgotten by a defect: it must not stay so."""
        now = time.monotonic()
        self._idle_since = {key: self._idle_since.get(key, now) for key in idle}
        for job_id, epoch in [key for key, since in self._idle_since.items() if now - since > FORGOTTEN_SECONDS]:
            LOST.labels("forgotten").inc()
            log.error("a job of ours is run by nobody", job=job_id, epoch=epoch)
            del self._idle_since[job_id, epoch]
            lost = functools.partial(lose_owned, worker_id=self.id, job_id=job_id, epoch=epoch)
            self._background.add(task := asyncio.create_task(insist(self._database, lost)))
            task.add_done_callback(self._background.discard)

    def _on_fenced(self, reason: str) -> None:
        FENCED.inc()
        log.error("worker fenced", reason=reason)
        self._fenced = reason
        self._wake.set()

    async def _listen(self, heartbeat: Heartbeat) -> None:
        """Wake-ups; the polls find everything without them, only later."""
        url = plain(self._settings.database_url)
        while True:
            with contextlib.suppress(psycopg.Error):
                async with await psycopg.AsyncConnection.connect(
                    url, autocommit=True, application_name="oddish-listen"
                ) as connection:
                    await connection.execute(f"LISTEN {JOBS_CHANNEL}")
                    await connection.execute(f"LISTEN {CANCEL_CHANNEL}")
                    await connection.execute(f"LISTEN {BUDGET_CHANNEL}")
                    await connection.execute(f"LISTEN {CALLBACKS_CHANNEL}")
                    await connection.execute(f"LISTEN {FOLLOWED_CHANNEL}")
                    self._wake.set()
                    self._callbacks.soon()
                    async for notification in notices(connection):
                        if notification.channel == BUDGET_CHANNEL:
                            self._housekeeping_due = 0.0
                        if notification.channel in (JOBS_CHANNEL, BUDGET_CHANNEL):
                            self._wake.set()
                        elif notification.channel == CALLBACKS_CHANNEL:
                            self._callbacks.soon()
                        elif notification.channel == FOLLOWED_CHANNEL:
                            self._services.live.followed(notification.payload)
                        elif notification.payload == self.id:
                            heartbeat.nudge()
            await asyncio.sleep(LISTEN_RETRY_SECONDS)

    async def _end_executions(self) -> None:
        """Let outcomes that are being recorded be recorded, kill the rest, and give it back unless fenced."""
        executions = list(self._executions.values())
        interrupted = [execution for execution, task in executions if not (task.done() or execution.reporting)]
        for execution, task in executions:
            if self._fenced is not None or not execution.reporting:
                task.cancel()
        if executions:
            _, late = await asyncio.wait([task for _, task in executions], timeout=REPORT_GRACE_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.wait([task for _, task in executions])
        if self._fenced is None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GIVE_BACK_SECONDS):
                    for execution in interrupted:
                        await execution.give_back()

    async def _retire(self) -> None:
        if self._fenced is None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GIVE_BACK_SECONDS):
                    await insist(self._database, lambda connection: retire(connection, self.id))


def _engine_environment(settings: Settings) -> dict[str, str]:
    """Agents that are named by import path are found where the worker's own modules are."""
    return curated_environment({"PYTHONPATH"} if settings.allow_import_paths else ())


def _physical_memory_mb() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (1024 * 1024)
