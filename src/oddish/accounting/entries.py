"""One attempt as an entry of the accounts, in SQL."""

from oddish.accounting.sums import NAMES, TOKENS
from oddish.accounting.window import BEGINNING
from oddish.trials.rewards import SUMMABLE


def binned(step: str, time: str) -> str:
    """The beginning of the step that ``time`` is in; as ``window.truncated``."""
    return f"date_bin({step}, {time}, timestamptz '{BEGINNING:%Y-%m-%d} UTC')"


def _known(column: str) -> str:
    """Of an attempt; one from before there was a ledger has what its trial shows of it."""
    return f"coalesce(a.{column}, CASE WHEN t.decided_by_epoch = a.epoch THEN t.{column} END)"


_USED = f"{_known('input_tokens')}, {_known('output_tokens')}"
_COST = f"least(greatest(coalesce({_known('cost_usd')}, 0), 0), {SUMMABLE})"
"""Agents write costs: what no sum has room for is bounded."""

_UNPRICED = f"{_known('cost_usd')} IS NULL AND coalesce(greatest({_USED}), 0) > 0"
_MODEL = f"CASE WHEN {_UNPRICED} THEN coalesce(a.model, t.model) ELSE coalesce(t.model, a.model) END"
"""That was asked for; of an attempt whose cost is not known the one that has no price."""

# What is read of an attempt `a` of a trial `t`. Whether the agent of an attempt without a word of its use had begun is
# told by its record or, where there is none, by its last stage.
ENTRY = f"""
t.org_id, {binned("interval '1 hour'", "coalesce(a.finished_at, now())")} AS hour, t.created_by AS user_id,
t.experiment_id, t.task_id, t.agent, t.provider, {_MODEL} AS model,
1 AS attempts, CAST(a.epoch = 1 AS integer) AS trials, CAST(a.state = 'running' AS integer) AS running,
{", ".join(f"coalesce({_known(name)}, 0) AS {name}" for name in TOKENS)},
{_COST} AS cost_usd,
CASE WHEN {_known("cost_is_estimated")} THEN {_COST} ELSE 0 END AS estimated_cost_usd,
CAST({_UNPRICED} AS integer) AS unpriced,
CAST({_known("cost_usd")} IS NULL AND coalesce({_USED}) IS NULL AND t.agent NOT IN ('nop', 'oracle') AND CASE a.state
  WHEN 'running' THEN false
  WHEN 'lost' THEN coalesce(a.stage IN ('agent_running', 'verification'), false)
  ELSE coalesce(jsonb_path_exists(a.facts, '$.timing.agent_execution')
    OR jsonb_path_exists(a.facts, '$.steps[*].timing.agent_execution'), false)
END AS integer) AS unreported
"""
ENTERED = "t.origin = 'oddish'"
"""Which trials are in the accounts: what was run elsewhere was paid elsewhere."""

FOLDED = tuple(name for name in NAMES if name != "running")
"""Of the sums: those of attempts that have ended."""


def summed(names: tuple[str, ...] = NAMES) -> str:
    return ", ".join(f"sum({name}) AS {name}" for name in names)
