"""Who holds the places of each queue key. A place is a running job, numbered from 0 in the order of the claims."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

SHOWN = 100
"""Places of one key that are listed, those held longest."""

# Every key with its places, and one without any once. Locks: none.
SLOTS = text("""
WITH held AS (
  SELECT j.key, j.worker_id, w.lease_until, coalesce(w.lease_until >= now(), false) AS alive,
    row_number() OVER (PARTITION BY j.key ORDER BY j.started_at, j.id) - 1 AS slot
  FROM jobs j LEFT JOIN workers w ON w.id = j.worker_id WHERE j.state = 'running'
), active AS (
  SELECT key, count(*) AS slots FROM held WHERE alive GROUP BY key
)
SELECT k.key, coalesce(k.override_limit, k.deploy_limit) AS total, coalesce(active.slots, 0) AS active,
  held.slot, held.worker_id, held.lease_until, held.alive
FROM queue_keys k LEFT JOIN active USING (key) LEFT JOIN held ON held.key = k.key AND held.slot < :shown
ORDER BY k.key, held.slot
""")


@dataclass(frozen=True)
class Slot:
    number: int
    worker_id: str
    lease_until: datetime | None
    """None when nobody knows the worker any more."""
    alive: bool
    """The lease of its worker has not ended."""


@dataclass(frozen=True)
class KeySlots:
    key: str
    total: int
    """The limit of the key."""
    active: int
    """Held by workers that are alive; ``slots`` may show fewer."""
    slots: list[Slot] = field(default_factory=list)


async def read_slots(connection: AsyncConnection) -> Sequence[KeySlots]:
    found: dict[str, KeySlots] = {}
    for row in await connection.execute(SLOTS, {"shown": SHOWN}):
        key = found.setdefault(row.key, KeySlots(row.key, row.total, row.active))
        if row.slot is not None:
            key.slots.append(Slot(row.slot, row.worker_id, row.lease_until, row.alive))
    return list(found.values())
