"""Tool calls of trials that were recorded before these were kept with them: what their attempts know is filled in."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

COUNTED_AT_A_TIME = 500

# The next uncounted trials after one, with what the attempt that decided each says of its trajectory. What is damaged
# stays unknown. Locks: trials, that nobody else has.
COUNT = """
WITH next AS MATERIALIZED (
  SELECT id, decided_by_epoch FROM trials
  WHERE has_trajectory AND total_tool_calls IS NULL AND id > :after
  ORDER BY id LIMIT :most FOR NO KEY UPDATE SKIP LOCKED
), known AS (
  SELECT next.id, facts -> 'trajectory' AS said FROM next
  JOIN attempts a ON a.trial_id = next.id AND a.epoch = next.decided_by_epoch
  WHERE jsonb_typeof(facts #> '{trajectory,tool_calls}') = 'number'
), counted AS (
  UPDATE trials SET
    total_tool_calls = (said ->> 'tool_calls')::integer,
    tool_counts = CASE WHEN jsonb_typeof(said -> 'tool_calls_by_name') = 'object' THEN said -> 'tool_calls_by_name' END,
    duration_seconds = CASE WHEN jsonb_typeof(said -> 'duration_sec') = 'number'
      THEN (said ->> 'duration_sec')::double precision ELSE duration_seconds END
  FROM known WHERE trials.id = known.id RETURNING trials.id
)
SELECT max(id), (SELECT count(*) FROM counted) FROM next
"""


async def count_tools(database: AsyncEngine) -> int:
    """Fill in the counts of all trials whose attempts know them, in short transactions; how many there were."""
    after: str | None = ""
    total = 0
    while after is not None:
        async with database.begin() as connection:
            result = await connection.execute(text(COUNT), {"after": after, "most": COUNTED_AT_A_TIME})
            after, counted = result.one()
        total += counted
    return total
