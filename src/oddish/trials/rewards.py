"""How rewards are added up: those of successful trials only, for nobody vouches for what a failed one recorded."""

from typing import Any

from sqlalchemy import ColumnElement, case, func

from oddish.db.tables import trials

SUMMABLE = 1e140
"""Rewards beyond it count as this much: a few larger ones would overflow their sum, or their average, which squares."""


def bounded_reward() -> ColumnElement[float]:
    """NULL where there is none, which the functions that bound it would overlook."""
    bounded = func.least(func.greatest(trials.c.reward, -SUMMABLE), SUMMABLE)
    return case((trials.c.reward.is_not(None), bounded))


def reward_counts() -> list[ColumnElement[Any]]:
    """Aggregates over trials: ``reward_success`` (exactly 1), ``reward_sum`` and ``reward_total`` (with a reward)."""
    counts = trials.c.status == "success"
    return [
        func.count().filter(counts, trials.c.reward == 1.0).label("reward_success"),
        func.coalesce(func.sum(bounded_reward()).filter(counts), 0.0).label("reward_sum"),
        func.count(trials.c.reward).filter(counts).label("reward_total"),
    ]
