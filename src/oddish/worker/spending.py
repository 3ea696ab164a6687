"""What an attempt has spent: so far, and from the files that it left."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import structlog

from oddish.engine.protocol import AGENT_LOGS
from oddish.engine.results import TrialFacts
from oddish.pricing import Prices
from oddish.transcript import Usage, settled
from oddish.trials.ledger import Spending
from oddish.trials.settlement import Asked, settle, so_far
from oddish.trials.spec import TrialSpec

log = structlog.get_logger()


def spent(spec: TrialSpec, facts: TrialFacts, trial_dir: Path, prices: Prices) -> Spending:
    """Reads the agent's logs again, all of them: what was counted while it ran may lack the end."""
    counted = settled(spec.agent, _folders(trial_dir, facts))
    spending = settle(asked(spec), facts.usage, counted, prices, datetime.now(UTC))
    if spending.unpriced:
        log.warning("trial_cost_unpriced", agent=spec.agent, model=spending.model)
    return spending


def spent_so_far(spec: TrialSpec, prices: Prices, counted: Usage) -> Spending:
    """What an attempt that runs has spent, by what is known of its logs."""
    return so_far(asked(spec), counted, prices, datetime.now(UTC))


def asked(spec: TrialSpec) -> Asked:
    return Asked(spec.agent, spec.model, spec.env)


def _folders(trial_dir: Path, facts: TrialFacts) -> Iterator[Path]:
    """Of the agent's logs: one for each step, whose names are what the attempt says they are."""
    if not facts.steps:
        yield trial_dir / AGENT_LOGS
    for step in facts.steps:
        if step.name not in ("", ".", "..") and "/" not in step.name:
            yield trial_dir / "steps" / step.name / AGENT_LOGS
