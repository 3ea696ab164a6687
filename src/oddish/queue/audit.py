"""The audit: counters compared with what they count, and put right. Every difference is a defect worth an alarm."""

from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.metrics import COUNTER_DRIFT

# Holds every counter, so that who changes a job meanwhile waits here and counts it afterwards.
# Locks: queue_keys (by key), queue_lanes (by key, lane), queue_caps (by name).
HOLD = (
    "SELECT FROM queue_keys ORDER BY key FOR NO KEY UPDATE",
    "SELECT FROM queue_lanes ORDER BY key, lane FOR NO KEY UPDATE",
    "SELECT FROM queue_caps ORDER BY name FOR NO KEY UPDATE",
)

# Sets counters that are off to what they count, and returns these. Locks: as HOLD.
REPAIR = """
WITH running AS (
  SELECT key, lane, count(*) AS n FROM jobs WHERE state = 'running' GROUP BY key, lane
), keys AS (
  SELECT k.key, k.running AS counted, coalesce(sum(r.n), 0) AS actual
  FROM queue_keys k LEFT JOIN running r ON r.key = k.key GROUP BY k.key
), lanes AS (
  SELECT l.key, l.lane, l.running AS counted, coalesce(r.n, 0) AS actual
  FROM queue_lanes l LEFT JOIN running r USING (key, lane)
), caps AS (
  SELECT c.name, c.running AS counted, coalesce(sum(r.n), 0) AS actual
  FROM queue_caps c LEFT JOIN (queue_lanes l JOIN running r USING (key, lane)) ON c.name = ANY (l.caps) GROUP BY c.name
), repaired_keys AS (
  UPDATE queue_keys k SET running = actual FROM keys WHERE k.key = keys.key AND counted <> actual
), repaired_lanes AS (
  UPDATE queue_lanes l SET running = actual FROM lanes
  WHERE (l.key, l.lane) = (lanes.key, lanes.lane) AND counted <> actual
), repaired_caps AS (
  UPDATE queue_caps c SET running = actual FROM caps WHERE c.name = caps.name AND counted <> actual
)
SELECT 'key' AS kind, key AS name, counted, actual::int FROM keys WHERE counted <> actual
UNION ALL SELECT 'lane', key || ' ' || lane, counted, actual::int FROM lanes WHERE counted <> actual
UNION ALL SELECT 'cap', name, counted, actual::int FROM caps WHERE counted <> actual
"""


@dataclass(frozen=True)
class Drift:
    """A counter that was off."""

    kind: str
    """``key``, ``lane`` or ``cap``."""
    name: str
    counted: int
    actual: int


async def audit(connection: AsyncConnection) -> list[Drift]:
    """Compare every counter with the running jobs and repair it, in the caller's transaction. Normally empty."""
    for statement in HOLD:
        await connection.execute(text(statement))
    found = [Drift(**row) for row in (await connection.execute(text(REPAIR))).mappings()]
    for drift in found:
        COUNTER_DRIFT.labels(drift.kind).inc()
    return found
