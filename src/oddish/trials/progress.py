"""What running attempts say and spend, stored together while they go on."""

import json
from collections.abc import Mapping, Sequence

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.queue.claim import Claim
from oddish.storable import storable
from oddish.trials.events import LIVE_CHANNEL, Entry
from oddish.trials.ledger import BUDGET_CHANNEL, CHARGE, Spending

# Appends events of running attempts, raises what they have spent, and answers which of the claims still own theirs. An
# attempt's end waits for this transaction or is seen by it, so that no event comes after it.
# Locks: attempts, in the order of their jobs, then budgets.
RECORD = text(f"""
WITH mine AS (
  SELECT a.trial_id, a.epoch, a.claim_id, a.cost_usd AS before FROM attempts a
  JOIN unnest(CAST(:trial_ids AS text[]), CAST(:epochs AS bigint[]), CAST(:claim_ids AS uuid[]))
    AS c (trial_id, epoch, claim_id) USING (trial_id, epoch, claim_id)
  WHERE a.state = 'running' ORDER BY a.job_id FOR NO KEY UPDATE OF a
), written AS (
  INSERT INTO trial_events (trial_id, attempt, seq, kind, payload)
  SELECT trial_id, epoch, seq, kind, payload
  FROM unnest(CAST(:event_claim_ids AS uuid[]), CAST(:seqs AS bigint[]), CAST(:kinds AS text[]),
              CAST(:payloads AS jsonb[])) AS e (claim_id, seq, kind, payload)
  JOIN mine USING (claim_id)
  ON CONFLICT DO NOTHING RETURNING trial_id
), told AS (
  SELECT pg_notify(:live_channel, trial_id) FROM (SELECT DISTINCT trial_id FROM written) new
), seen AS (
  SELECT * FROM unnest(
    CAST(:spending_claim_ids AS uuid[]), CAST(:input_tokens AS bigint[]), CAST(:cache_tokens AS bigint[]),
    CAST(:cache_write_tokens AS bigint[]), CAST(:output_tokens AS bigint[]), CAST(:costs_usd AS double precision[]),
    CAST(:models AS text[])
  ) AS seen (claim_id, input_tokens, cache_tokens, cache_write_tokens, output_tokens, cost_usd, model)
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
    events = [(claim.claim_id, entry) for claim, own in said.items() for entry in own]
    rows = await connection.execute(
        RECORD,
        {
            "trial_ids": [claim.subject_id for claim in claims],
            "epochs": [claim.epoch for claim in claims],
            "claim_ids": [claim.claim_id for claim in claims],
            "event_claim_ids": [claim_id for claim_id, _ in events],
            "seqs": [entry.seq for _, entry in events],
            "kinds": [entry.kind for _, entry in events],
            "payloads": [json.dumps(storable(entry.payload)) for _, entry in events],
            "live_channel": LIVE_CHANNEL,
            "spending_claim_ids": [claim.claim_id for claim in spent],
            "input_tokens": [spending.input_tokens for spending in spent.values()],
            "cache_tokens": [spending.cache_tokens for spending in spent.values()],
            "cache_write_tokens": [spending.cache_write_tokens for spending in spent.values()],
            "output_tokens": [spending.output_tokens for spending in spent.values()],
            "costs_usd": [spending.cost_usd for spending in spent.values()],
            "models": [spending.model for spending in spent.values()],
            "channel": BUDGET_CHANNEL,
        },
    )
    owning = {row.claim_id for row in rows}
    return {claim for claim in claims if claim.claim_id in owning}
