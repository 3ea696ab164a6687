"""Exports as pages show them, unpacked where that has not been done yet."""

from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.api.sites import EXPORT_LINKS
from oddish.exports.registry import Export, Place, find
from oddish.exports.unpacked import UnpackedExports
from oddish.storage.errors import ObjectNotFound
from oddish.viewer.results import Results
from oddish.web.parsing import FAST
from oddish.web.viewer.shelf import Shelf

KEPT = 4
"""Exports of which what was read is remembered."""


class ExportShelves:
    """Safe to share between the requests of one event loop."""

    def __init__(self, engine: AsyncEngine, unpacked: UnpackedExports) -> None:
        self._engine = engine
        self._unpacked = unpacked
        self._shelves: OrderedDict[str, Shelf] = OrderedDict()

    @asynccontextmanager
    async def open(self, place: Place) -> AsyncIterator[Shelf]:
        """The export as it is now, which stays as it is while the context is open. Raises ``NotFound``."""
        async with AsyncExitStack() as stack:
            export, directory = await self._enter(stack, place)
            yield self._shelf(export, directory)

    async def _enter(self, stack: AsyncExitStack, place: Place) -> tuple[Export, Path]:
        """An archive that is gone was replaced a moment ago, unless it is still the one that is named."""
        missed = None
        while True:
            async with self._engine.connect() as connection:
                export = await find(connection, place)
            try:
                return export, await stack.enter_async_context(self._unpacked.hold(export))
            except ObjectNotFound:
                if export.object_key == missed:
                    raise
                missed = export.object_key

    def _shelf(self, export: Export, directory: Path) -> Shelf:
        shelf = self._shelves.get(export.sha256)
        if shelf is None:
            shelf = self._shelves[export.sha256] = Shelf(Results(directory, FAST), EXPORT_LINKS, "Viewer")
        self._shelves.move_to_end(export.sha256)
        if len(self._shelves) > KEPT:
            self._shelves.popitem(last=False)
        return shelf
