"""The ledger: what each attempt has spent, kept while it runs and settled when it ends.

Each attempt counts once, whether its trial was run again, replaced or deleted since.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from sqlalchemy import ColumnElement, func, text
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.db.tables import attempts
from oddish.queue.claim import Claim

# Raises what running attempts have spent so far. Locks: attempts, in the order of their jobs.
CHECKPOINT = """
WITH seen AS (
  SELECT * FROM unnest(
    CAST(:trial_ids AS text[]), CAST(:epochs AS bigint[]), CAST(:claim_ids AS uuid[]), CAST(:input_tokens AS bigint[]),
    CAST(:cache_tokens AS bigint[]), CAST(:cache_write_tokens AS bigint[]), CAST(:output_tokens AS bigint[]),
    CAST(:costs_usd AS double precision[]), CAST(:models AS text[])
  ) AS seen (trial_id, epoch, claim_id, input_tokens, cache_tokens, cache_write_tokens, output_tokens, cost_usd, model)
), running AS (
  SELECT a.trial_id, a.epoch FROM attempts a JOIN seen USING (trial_id, epoch, claim_id)
  WHERE a.state = 'running' ORDER BY a.job_id FOR NO KEY UPDATE OF a
)
UPDATE attempts a SET
  input_tokens = greatest(a.input_tokens, seen.input_tokens),
  cache_tokens = greatest(a.cache_tokens, seen.cache_tokens),
  cache_write_tokens = greatest(a.cache_write_tokens, seen.cache_write_tokens),
  output_tokens = greatest(a.output_tokens, seen.output_tokens),
  cost_usd = greatest(a.cost_usd, seen.cost_usd),
  cost_is_estimated = CASE WHEN coalesce(a.cost_usd, seen.cost_usd) IS NOT NULL THEN true END,
  model = coalesce(seen.model, a.model)
FROM running JOIN seen USING (trial_id, epoch)
WHERE a.trial_id = running.trial_id AND a.epoch = running.epoch
"""


@dataclass(frozen=True)
class Spending:
    """Of one attempt; None is unknown, never 0."""

    input_tokens: int | None = None
    """Those read from and written to a cache included."""
    cache_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    cost_is_estimated: bool | None = None
    """Whether the cost was worked out from the tokens; None where there is no cost."""
    model: str | None = None
    """That answered, as the agent says, else that was asked for."""


COLUMNS = tuple(attempts.c[field.name] for field in fields(Spending))
TRIAL_COLUMNS = tuple(column for column in COLUMNS if column.name != "model")
"""Those that a trial shows of its last attempt, under the same names."""


def settled(spending: Spending) -> dict[str, ColumnElement[object]]:
    """What an attempt that ends shows in ``COLUMNS``: what is not known at the end stays as it was seen last."""
    return {column.name: func.coalesce(getattr(spending, column.name), column) for column in COLUMNS}


def shown(spending: Spending) -> dict[str, object]:
    """What a trial shows in ``TRIAL_COLUMNS``."""
    return {column.name: getattr(spending, column.name) for column in TRIAL_COLUMNS}


async def checkpoint(connection: AsyncConnection, spent: Mapping[Claim, Spending]) -> None:
    """Keep what running attempts have spent so far, in the caller's transaction.

    Figures only rise, and costs count as estimates. An execution that no longer owns its attempt is left out.
    """
    await connection.execute(
        text(CHECKPOINT),
        {
            "trial_ids": [claim.subject_id for claim in spent],
            "epochs": [claim.epoch for claim in spent],
            "claim_ids": [claim.claim_id for claim in spent],
            "input_tokens": [spending.input_tokens for spending in spent.values()],
            "cache_tokens": [spending.cache_tokens for spending in spent.values()],
            "cache_write_tokens": [spending.cache_write_tokens for spending in spent.values()],
            "output_tokens": [spending.output_tokens for spending in spent.values()],
            "costs_usd": [spending.cost_usd for spending in spent.values()],
            "models": [spending.model for spending in spent.values()],
        },
    )
