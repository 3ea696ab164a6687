"""Series: spend step by step, broken down by one thing. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from oddish.accounting.shares import Model, Share, added
from oddish.accounting.sums import Sums
from oddish.accounting.window import Window

KEYS_SHOWN = 20
OTHER = "other"
"""All that is less expensive than the keys that are shown."""
NO_MODEL = "no model"
TRIALS = "trial"
"""The kind of what is spent on running trials."""


@dataclass(frozen=True)
class Step:
    start: datetime
    sums: Sums
    costs: Mapping[str, float]
    """US dollars by key, where there are any."""


@dataclass(frozen=True)
class Series:
    dimension: str
    keys: Sequence[str]
    """The most expensive first."""
    steps: Sequence[Step]
    """Of equal length and without gaps."""


def series(window: Window, dimension: str, shares: Sequence[Share], key: Callable[[Share], str]) -> Series:
    """Of shares that are broken down by bucket and by what ``key`` tells."""
    ranked = list(added(shares, key))
    shown = ranked if len(ranked) <= KEYS_SHOWN else [*ranked[:KEYS_SHOWN], OTHER]
    cells = added(shares, lambda share: (share.bucket, _among(shown, key(share))))
    totals = added(shares, lambda share: share.bucket)
    starts = window.buckets({share.bucket for share in shares if share.bucket})
    steps = [
        Step(
            start,
            totals.get(start, Sums()),
            {name: cells[start, name].cost_usd for name in shown if (start, name) in cells},
        )
        for start in starts
    ]
    return Series(dimension, shown, steps)


def empty(dimension: str) -> Series:
    """Of what nothing has been spent on."""
    return Series(dimension, [], [])


def agent_key(share: Share) -> str:
    return share.agent or ""


def model_key(share: Share) -> str:
    return model_name(share.model)


def user_key(share: Share) -> str:
    return share.user.id if share.user else ""


def type_key(_: Share) -> str:
    return TRIALS


def model_name(model: Model | None) -> str:
    return (model and model.name) or NO_MODEL


def _among(shown: Sequence[str], key: str) -> str:
    return key if key in shown else OTHER
