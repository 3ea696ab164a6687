"""What submissions that come together are prepared on: what workers offer, and the lanes that are there."""

from collections.abc import Iterable

from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.queue.enqueue import Lane, prepare_lanes
from oddish.queue.keys import Limits
from oddish.trials.catalogue import Catalogue, load_catalogue


class Ground:
    """Read and made once for all of them. For moments, not for minutes: workers come and go."""

    def __init__(self, engine: AsyncEngine, limits: Limits, *, patience_seconds: float) -> None:
        self._engine = engine
        self._limits = limits
        self._patience_seconds = patience_seconds
        self._catalogue: Catalogue | None = None
        self._lanes: set[Lane] = set()

    async def catalogue(self) -> Catalogue:
        """Raises ``NoWorkerYet``, after the first wait at once."""
        if self._catalogue is None:
            patience, self._patience_seconds = self._patience_seconds, 0.0
            self._catalogue = await load_catalogue(self._engine, patience_seconds=patience)
        return self._catalogue

    async def prepare(self, lanes: Iterable[Lane]) -> None:
        """As ``prepare_lanes``, of those that are not prepared yet."""
        if missing := set(lanes) - self._lanes:
            await prepare_lanes(self._engine, missing, self._limits)
            self._lanes |= missing
