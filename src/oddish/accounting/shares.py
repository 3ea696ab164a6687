"""Parts of what was spent, by several things at once. Pure."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from oddish.accounting.sums import Sums


@dataclass(frozen=True)
class Model:
    """As trials were asked for; of attempts whose cost is not known, one that has no price.

    Without a name where the agent has a model of its own, or none.
    """

    provider: str
    name: str | None


@dataclass(frozen=True)
class User:
    id: str
    name: str
    email: str | None


@dataclass(frozen=True)
class Share:
    """What one part of a breakdown came to. What it is not broken down by is None."""

    sums: Sums
    bucket: datetime | None
    user: User | None
    agent: str | None
    model: Model | None


@dataclass(frozen=True)
class Ranked:
    """An experiment or a task."""

    id: str
    name: str
    sums: Sums


@dataclass(frozen=True)
class Ranking:
    """The most expensive ones, of as many as were found."""

    shown: Sequence[Ranked]
    found: int


@dataclass(frozen=True)
class Breakdown:
    by_agent_and_bucket: Sequence[Share]
    by_model_and_bucket: Sequence[Share]
    by_user_and_bucket: Sequence[Share]
    by_model_and_user: Sequence[Share]
    by_model_and_agent: Sequence[Share]
    experiments: Ranking


def added[Key: Hashable](shares: Iterable[Share], key: Callable[[Share], Key]) -> dict[Key, Sums]:
    """By ``key``, the most expensive first."""
    totals: dict[Key, Sums] = {}
    for share in shares:
        totals[key(share)] = totals.get(key(share), Sums()) + share.sums
    return dict(sorted(totals.items(), key=lambda item: (-item[1].cost_usd, str(item[0]))))
