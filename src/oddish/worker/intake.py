"""One execution of a job that takes an archive of the gateway in."""

import asyncio
import contextlib
import functools
from dataclasses import replace

import structlog
from sqlalchemy.exc import DBAPIError

from oddish.errors import Conflict, OddishError
from oddish.gateway.fetching import Fetcher
from oddish.gateway.intake import Intake, refuse
from oddish.queue.claim import Claim
from oddish.queue.finish import StaleClaim
from oddish.queue.reap import release
from oddish.tasks.archive import ArchiveLimits
from oddish.trials import deployment
from oddish.worker.execution import Services
from oddish.worker.metrics import REFUSED
from oddish.worker.persistence import insist, passing

FETCH_SECONDS = 300.0
"""For one archive."""

log = structlog.get_logger()


class IntakeCancelled(Conflict):
    """Somebody cancelled the job."""

    code = "cancelled"


class IntakeFailed(OddishError):
    """A defect of ours: no trials came of the archive."""

    code = "intake_failed"


class IntakeExecution:
    """Runs one claim, as ``Execution`` does for trials."""

    reporting = False
    """What it comes to is recorded by what it does, so it may be interrupted at any time."""

    def __init__(self, claim: Claim, services: Services) -> None:
        self.claim = claim
        self.over = False
        self._services = services
        self._cancelled = asyncio.Event()

    def cancel(self) -> None:
        """Ask for an end without trials."""
        self._cancelled.set()

    async def run(self) -> None:
        """Take the archive in, or record why not. Cancelling this task records nothing."""
        with structlog.contextvars.bound_contextvars(gateway_job=self.claim.subject_id, epoch=self.claim.epoch):
            try:
                await self._run()
            except StaleClaim as error:
                REFUSED.inc()
                log.warning("intake refused", error=str(error))
            finally:
                self.over = True
                await asyncio.to_thread(self._services.workspace.discard, self.claim.label)

    async def give_back(self) -> None:
        """Return the claim because the worker cannot go on with it."""
        with contextlib.suppress(StaleClaim):
            await insist(self._services.database, lambda connection: release(connection, self.claim))

    async def _run(self) -> None:
        try:
            await self._take()
        except OddishError as error:
            if isinstance(error, StaleClaim):
                raise
            log.info("archive not taken in", code=error.code, error=str(error))
            await self._refuse(error)
        except DBAPIError as error:
            if not passing(error):
                raise
            await self.give_back()
        except Exception:
            log.exception("intake failed")
            await self._refuse(IntakeFailed("The archive could not be taken in.", fix="The worker's log says why."))

    async def _take(self) -> None:
        taking = asyncio.create_task(
            intake(self._services).take(self.claim, self._services.workspace.attempt(self.claim.label))
        )
        cancelled = asyncio.create_task(self._cancelled.wait())
        try:
            await asyncio.wait([taking, cancelled], return_when=asyncio.FIRST_COMPLETED)
            if not taking.done():
                raise IntakeCancelled("The job was cancelled.")
            await taking
        finally:
            taking.cancel()
            cancelled.cancel()
            await asyncio.wait([taking, cancelled])

    async def _refuse(self, error: OddishError) -> None:
        await insist(self._services.database, functools.partial(refuse, claim=self.claim, error=error))


def intake(services: Services) -> Intake:
    settings = services.settings
    return Intake(
        database=services.database,
        store=services.store,
        keyring=services.keyring,
        policy=deployment.policy(settings, services.prices),
        limits=replace(deployment.limits(settings), authoritative=False),
        fetcher=Fetcher(settings.gateway_max_archive_bytes, FETCH_SECONDS, settings.allowed_hosts),
        archive_limits=ArchiveLimits(
            max_bytes=settings.gateway_max_archive_bytes,
            max_extracted_bytes=settings.gateway_max_extracted_bytes,
            max_entries=settings.gateway_max_archive_entries,
        ),
        patience_seconds=settings.publication_wait_seconds,
    )
