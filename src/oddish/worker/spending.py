"""What an attempt that has ended spent, from the files that it left."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import structlog

from oddish.engine.results import TrialFacts
from oddish.pricing import Prices
from oddish.transcript import settled
from oddish.trials.ledger import Spending
from oddish.trials.settlement import Asked, settle
from oddish.trials.spec import TrialSpec

log = structlog.get_logger()


def spent(spec: TrialSpec, facts: TrialFacts, trial_dir: Path, prices: Prices) -> Spending:
    """Reads the agent's logs again, all of them: what was counted while it ran may lack the end."""
    counted = settled(spec.agent, _folders(trial_dir, facts))
    spending = settle(asked(spec), facts.usage, counted, prices, datetime.now(UTC))
    if spending.cost_usd is None and spending.output_tokens:
        log.warning("trial_cost_unpriced", agent=spec.agent, model=spending.model)
    return spending


def asked(spec: TrialSpec) -> Asked:
    return Asked(spec.agent, spec.model, spec.env)


def _folders(trial_dir: Path, facts: TrialFacts) -> Iterator[Path]:
    """Of the agent's logs: one for each step, whose names are what the attempt says they are."""
    if not facts.steps:
        yield trial_dir / "agent"
    for step in facts.steps:
        if step.name not in ("", ".", "..") and "/" not in step.name:
            yield trial_dir / "steps" / step.name / "agent"
