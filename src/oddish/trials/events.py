"""Live events: what running attempts say and do, kept until their permanent record is in the store."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

LIVE_CHANNEL = "oddish_live"
"""Notifications carry the id of a trial that has new events, is a stage further or has ended."""
LINGER_SECONDS = 60.0
"""How long events stay once their record is in the store, for followers to read the last of them."""
KEPT_HOURS = 24
"""How long events stay of attempts that left no record."""
PURGED_AT_A_TIME = 20

# Deletes events whose attempt has ended: soon when its files are in the store, else after a day. Attempts with events
# are found by skipping from one to the next. Several workers share the work. Locks: attempts that have ended.
PURGE = """
WITH RECURSIVE kept AS (
  (SELECT trial_id, attempt FROM trial_events ORDER BY trial_id, attempt LIMIT 1)
  UNION ALL
  SELECT next.trial_id, next.attempt FROM kept CROSS JOIN LATERAL (
    SELECT e.trial_id, e.attempt FROM trial_events e
    WHERE (e.trial_id, e.attempt) > (kept.trial_id, kept.attempt) ORDER BY e.trial_id, e.attempt LIMIT 1
  ) next
), over AS MATERIALIZED (
  SELECT a.trial_id, a.epoch FROM kept JOIN attempts a ON a.trial_id = kept.trial_id AND a.epoch = kept.attempt
  WHERE a.state <> 'running' AND a.finished_at < clock_timestamp() - CASE
    WHEN a.artifact_prefix IS NULL THEN make_interval(hours => :hours) ELSE make_interval(secs => :linger) END
  LIMIT :most FOR NO KEY UPDATE OF a SKIP LOCKED
)
DELETE FROM trial_events e USING over WHERE e.trial_id = over.trial_id AND e.attempt = over.epoch
"""


@dataclass(frozen=True)
class Entry:
    """One event of an attempt: ``seq`` counts from 1, kind and payload as in ``oddish.transcript.events``."""

    seq: int
    kind: str
    payload: Mapping[str, object]


@dataclass(frozen=True)
class StoredEntry(Entry):
    created_at: datetime


async def purge(connection: AsyncConnection, *, most: int = PURGED_AT_A_TIME) -> int:
    """Delete the events of up to ``most`` attempts past their time, in the caller's transaction; how many events."""
    parameters = {"hours": KEPT_HOURS, "linger": LINGER_SECONDS, "most": most}
    return (await connection.execute(text(PURGE), parameters)).rowcount
