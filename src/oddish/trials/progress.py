"""What running attempts say and spend, stored together while they go on."""

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.queue.claim import Claim
from oddish.storable import storable_json
from oddish.trials.events import LIVE_CHANNEL, Entry
from oddish.trials.ledger import BUDGET_CHANNEL, CHARGE, Spending

# Appends events of running attempts, raises what they have spent, and answers which of the claims still own theirs. An
# attempt's end waits for this transaction or is seen by it, so that no event comes after it.
# Locks: attempts, in the order of their jobs, then budgets.
RECORD = text(f"""
WITH mine AS (
  SELECT a.trial_id, a.epoch, a.claim_id, a.cost_usd AS before FROM attempts a
  JOIN jsonb_to_recordset(CAST(:claims AS jsonb)) AS c (trial_id text, epoch bigint, claim_id uuid)
    USING (trial_id, epoch, claim_id)
  WHERE a.state = 'running' ORDER BY a.job_id FOR NO KEY UPDATE OF a
), written AS (
  INSERT INTO trial_events (trial_id, attempt, seq, kind, payload)
  SELECT trial_id, epoch, seq, kind, payload
  FROM jsonb_to_recordset(CAST(:said AS jsonb)) AS e (claim_id uuid, seq bigint, kind text, payload jsonb)
  JOIN mine USING (claim_id)
  ON CONFLICT DO NOTHING RETURNING trial_id
), told AS (
  SELECT pg_notify(:live_channel, trial_id) FROM (SELECT DISTINCT trial_id FROM written) new
), seen AS (
  SELECT * FROM jsonb_to_recordset(CAST(:spent AS jsonb)) AS s (
    claim_id uuid, input_tokens bigint, cache_tokens bigint, cache_write_tokens bigint, output_tokens bigint,
    cost_usd double precision, model text
  )
), changed AS (
  UPDATE attempts a SET
    input_tokens = greatest(a.input_tokens, seen.input_tokens),
    cache_tokens = greatest(a.cache_tokens, seen.cache_tokens),
    cache_write_tokens = greatest(a.cache_write_tokens, seen.cache_write_tokens),
    output_tokens = greatest(a.output_tokens, seen.output_tokens),
    cost_usd = greatest(a.cost_usd, seen.cost_usd),
    cost_is_estimated = CASE WHEN coalesce(a.cost_usd, seen.cost_usd) IS NOT NULL THEN true END,
    model = coalesce(seen.model, a.model)
  FROM mine JOIN seen USING (claim_id)
  WHERE a.trial_id = mine.trial_id AND a.epoch = mine.epoch
  RETURNING a.trial_id, coalesce(a.cost_usd, 0) - coalesce(mine.before, 0) AS difference
), {CHARGE}
SELECT claim_id, (SELECT count(*) FROM told), (SELECT count(*) FROM announced) FROM mine
""")  # noqa: S608 - of constants


async def record(
    connection: AsyncConnection, said: Mapping[Claim, Sequence[Entry]], spent: Mapping[Claim, Spending]
) -> set[Claim]:
    """Append what running attempts said and keep what they have spent so far; which of the claims own their attempt.

    Nothing is written for the others. The attempts stay locked until the caller's transaction ends, which should be
    this one statement. Entries that are there already stay as they are, so that a commit whose answer was lost may be
    repeated. What was spent only rises, and its cost counts as an estimate.
    """
    claims = said.keys() | spent.keys()
    rows = await connection.execute(
        RECORD,
        {
            "claims": _rows((claim, {"trial_id": claim.subject_id, "epoch": claim.epoch}) for claim in claims),
            "said": _rows((claim, vars(entry)) for claim, entries in said.items() for entry in entries),
            "spent": _rows((claim, vars(spending)) for claim, spending in spent.items()),
            "live_channel": LIVE_CHANNEL,
            "channel": BUDGET_CHANNEL,
        },
    )
    owning = {row.claim_id for row in rows}
    return {claim for claim in claims if claim.claim_id in owning}


def _rows(of_claims: Iterable[tuple[Claim, Mapping[str, object]]]) -> str:
    """One document, for an array of each column takes longer to send and to read."""
    return storable_json([{"claim_id": str(claim.claim_id), **row} for claim, row in of_claims])
