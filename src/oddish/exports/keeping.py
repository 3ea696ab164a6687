"""An export comes, replaces the one before it, or goes: its row and its archive in the store together.

The archive is stored before the row that names it, and deleted after the row that named it is gone. What is left
between the two is found by the upkeep.
"""

import asyncio

import structlog
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish import ids
from oddish.errors import OddishError
from oddish.exports import registry
from oddish.exports.intake import Received, examine
from oddish.exports.registry import Archive, Export, Place
from oddish.exports.unpacked import UnpackedExports
from oddish.identity.principal import Principal
from oddish.storage.store import ArtifactStore
from oddish.tasks.archive import ArchiveLimits

PREFIX = "exports"
"""The first part of the keys of archives."""
READERS = 2
"""Archives that a server reads at a time: it takes a processor and a place on the disk."""

log = structlog.get_logger()


class Keeper:
    """The exports of one server. Safe to share between the requests of one event loop."""

    def __init__(
        self,
        engine: AsyncEngine,
        store: ArtifactStore,
        unpacked: UnpackedExports,
        limits: ArchiveLimits,
        *,
        quota: int,
    ) -> None:
        """``quota``: most bytes of an organisation's archives."""
        self._engine = engine
        self._store = store
        self._unpacked = unpacked
        self._limits = limits
        self._quota = quota
        self._reading = asyncio.Semaphore(READERS)

    async def keep(self, principal: Principal, place: Place, arrived: Received) -> Export:
        """Show what arrived from now on. Raises what ``examine`` refuses it for, and ``ExportQuota``."""
        async with self._reading:
            await asyncio.to_thread(examine, arrived.path, self._limits, place)
        key = f"{PREFIX}/{place.org_id}/{ids.row_id('exp')}.tar.gz"
        await self._store.put_file(key, arrived.path)
        archive = Archive(key, arrived.sha256, arrived.bytes)
        try:
            async with self._engine.begin() as connection:
                kept, replaced = await registry.keep(connection, principal, place, archive, quota=self._quota)
        except OddishError:
            await self._delete(archive)
            raise
        if replaced is not None:
            await self._delete(replaced)
        return kept

    async def forget(self, place: Place) -> None:
        """Raises ``NotFound``."""
        async with self._engine.begin() as connection:
            archive = await registry.forget(connection, place)
        await self._delete(archive)

    async def _delete(self, archive: Archive) -> None:
        """What the store does not do now is done by the upkeep; what other servers have unpacked ages there."""
        await asyncio.to_thread(self._unpacked.discard, archive.sha256)
        try:
            await self._store.delete(archive.object_key)
        except OddishError as error:
            log.warning("the archive of an export is left for a day", key=archive.object_key, error=str(error))
