"""What became of trials: each leads, over those that replaced it, to one that is live."""

from collections.abc import Collection

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.identity.principal import Principal

# Follows each trial to the last of those that replaced it. Locks: none.
ANY_ENDED_IN_VAIN = text("""
WITH RECURSIVE line AS (
  SELECT id, status, deleted_at, superseded_by_trial_id FROM trials
  WHERE org_id = :org_id AND id = ANY (CAST(:trial_ids AS text[]))
  UNION
  SELECT t.id, t.status, t.deleted_at, t.superseded_by_trial_id FROM trials t
  JOIN line ON t.id = line.superseded_by_trial_id
)
SELECT EXISTS (
  SELECT FROM line WHERE superseded_by_trial_id IS NULL AND (status IN ('failed', 'skipped') OR deleted_at IS NOT NULL)
)
""")


async def any_ended_in_vain(connection: AsyncConnection, principal: Principal, trial_ids: Collection[str]) -> bool:
    """Whether one of these trials, or the last that replaced it, failed, was cancelled or skipped, or is deleted."""
    found = await connection.scalar(ANY_ENDED_IN_VAIN, {"org_id": principal.org_id, "trial_ids": list(trial_ids)})
    return bool(found)
