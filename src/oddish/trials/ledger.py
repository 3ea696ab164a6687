"""The ledger: what each attempt has spent, kept while it runs and settled when it ends.

Each attempt counts once, whether its trial was run again, replaced or deleted since.
"""

from dataclasses import asdict, dataclass, fields

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.queue.claim import Claim

BUDGET_CHANNEL = "oddish_budget"
"""Notified when a budget is exceeded."""

# Charges the differences in ``changed`` to the budgets of the trials. Locks: budgets, in their order.
CHARGE = """
owed AS (
  SELECT t.org_id, t.budget_id, sum(changed.difference) AS usd FROM changed JOIN trials t ON t.id = changed.trial_id
  WHERE t.budget_id IS NOT NULL AND changed.difference <> 0 GROUP BY t.org_id, t.budget_id
), payer AS (
  SELECT b.org_id, b.id, owed.usd FROM budgets b JOIN owed ON owed.org_id = b.org_id AND owed.budget_id = b.id
  ORDER BY b.org_id, b.id FOR NO KEY UPDATE OF b
), charged AS (
  UPDATE budgets b SET spent_usd = b.spent_usd + payer.usd,
    exceeded_at = CASE WHEN b.spent_usd + payer.usd >= b.limit_usd
      THEN coalesce(b.exceeded_at, clock_timestamp()) ELSE b.exceeded_at END
  FROM payer WHERE b.org_id = payer.org_id AND b.id = payer.id
  RETURNING b.exceeded_at IS NOT NULL AND b.stopped_at IS NULL AS exceeded
), announced AS (
  SELECT pg_notify(:channel, '') FROM charged WHERE exceeded LIMIT 1
)"""

# Says what an attempt that ends has spent. Where nothing is known at the end it stays as it was seen last; a cost that
# is no longer known, as some of the tokens have no price, is not charged back.
# Locks: that attempt, then its budget.
SETTLE = f"""
WITH ending AS (
  SELECT trial_id, epoch, cost_usd AS before FROM attempts
  WHERE trial_id = :trial_id AND epoch = :epoch FOR NO KEY UPDATE
), changed AS (
  UPDATE attempts a SET
    input_tokens = coalesce(:input_tokens, a.input_tokens),
    cache_tokens = coalesce(:cache_tokens, a.cache_tokens),
    cache_write_tokens = coalesce(:cache_write_tokens, a.cache_write_tokens),
    output_tokens = coalesce(:output_tokens, a.output_tokens),
    cost_usd = CASE WHEN CAST(:input_tokens AS bigint) IS NULL
      THEN coalesce(:cost_usd, a.cost_usd) ELSE :cost_usd END,
    cost_is_estimated = CASE WHEN CAST(:input_tokens AS bigint) IS NULL
      THEN coalesce(:cost_is_estimated, a.cost_is_estimated) ELSE :cost_is_estimated END,
    model = coalesce(:model, a.model)
  FROM ending WHERE a.trial_id = ending.trial_id AND a.epoch = ending.epoch
  RETURNING a.*, coalesce(a.cost_usd, ending.before, 0) - coalesce(ending.before, 0) AS difference
), {CHARGE}
SELECT input_tokens, cache_tokens, cache_write_tokens, output_tokens, cost_usd, cost_is_estimated, model,
  (SELECT count(*) FROM announced)
FROM changed
"""  # noqa: S608 - of constants


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
    """Where the cost is not known, one that has no price; else that was asked for, else that answered."""

    @property
    def unpriced(self) -> bool:
        """Whether tokens were used whose price is not known."""
        return self.cost_usd is None and bool(self.input_tokens or self.output_tokens)


FIGURES = tuple(field.name for field in fields(Spending) if field.name != "model")
"""What a trial shows of its last attempt, by the names of its columns and the attempt's."""


def figures(spending: Spending) -> dict[str, object]:
    """What a trial shows of what an attempt has spent, by its columns."""
    return {name: getattr(spending, name) for name in FIGURES}


async def settle(connection: AsyncConnection, claim: Claim, spending: Spending) -> Spending:
    """Say what an attempt came to in the end, in the transaction that records it; what it shows from then on."""
    parameters = {"trial_id": claim.subject_id, "epoch": claim.epoch, "channel": BUDGET_CHANNEL, **asdict(spending)}
    row = (await connection.execute(text(SETTLE), parameters)).one()
    return Spending(*row[: len(fields(Spending))])
