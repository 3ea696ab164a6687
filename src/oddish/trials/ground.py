"""What submissions that come together are prepared on: what workers offer and say, and the lanes that are there."""

from collections.abc import Iterable

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from oddish.credentials import Table
from oddish.queue.enqueue import Lane, prepare_lanes
from oddish.queue.keys import Limits
from oddish.trials.agents import credentials_of_agent
from oddish.trials.catalogue import Catalogue, load_catalogue


class Ground:
    """Read and made once for all of them. For moments, not for minutes: workers come and go."""

    def __init__(self, reads: AsyncEngine, engine: AsyncEngine, limits: Limits, *, patience_seconds: float) -> None:
        """``reads`` makes a transaction of each statement."""
        self._reads = reads
        self._engine = engine
        self._limits = limits
        self._patience_seconds = patience_seconds
        self._catalogue: Catalogue | None = None
        self._lanes: set[Lane] = set()
        self._tables: dict[tuple[str, str], Table | None] = {}

    async def catalogue(self) -> Catalogue:
        """Raises ``NoWorkerYet``, after the first wait at once."""
        if self._catalogue is None:
            patience, self._patience_seconds = self._patience_seconds, 0.0
            self._catalogue = await load_catalogue(self._reads, patience_seconds=patience)
        return self._catalogue

    async def prepare(self, lanes: Iterable[Lane]) -> None:
        """As ``prepare_lanes``, of those that are not prepared yet."""
        if missing := set(lanes) - self._lanes:
            await prepare_lanes(self._engine, missing, self._limits)
            self._lanes |= missing

    async def credentials(self, connection: AsyncConnection, agent: str, *, pool: str) -> Table | None:
        """As ``credentials_of_agent``."""
        known = (agent, pool)
        if known not in self._tables:
            self._tables[known] = await credentials_of_agent(connection, agent, pool=pool)
        return self._tables[known]
