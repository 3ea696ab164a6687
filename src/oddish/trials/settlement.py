"""Settlement: what an attempt has cost, from what its agent reports and from its tokens. Pure."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from urllib.parse import urlsplit

from oddish.engine.results import Usage as Reported
from oddish.pricing import Prices, Tokens
from oddish.queue.keys import normalise_model
from oddish.transcript import Usage
from oddish.transcript.usage import price as plausible
from oddish.trials.ledger import Spending

PRICED_BY_LISTS = frozenset({"codex", "cursor-cli", "fx", "gemini-cli", "grok-build", "kimi-code", "vibe"})
"""Agents that report no cost: the one in their results is the engine's, from a list of prices."""
CLAUDE_CODE = "claude-code"
THIRD_PARTIES = frozenset({"fireworks", "minimax", "moonshot", "openrouter", "zai"})
"""Providers whose models claude-code prices as if they were its own."""
_THIRD_HOSTS = ("fireworks.ai", "minimax.io", "minimaxi.com", "moonshot.ai", "moonshot.cn", "openrouter.ai", "z.ai")


@dataclass(frozen=True)
class Asked:
    """What was to run."""

    agent: str
    model: str | None
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Of the agent."""


def so_far(asked: Asked, counted: Usage, prices: Prices, when: datetime) -> Spending:
    """What a running attempt has spent, by what its transcript says.

    Models without a price are left out beside others that have one: a cost limit still holds for those.
    """
    parts = _parts(asked, counted, prices, when)
    return _counted(asked, counted, parts, _sum(parts), estimated=True)


def settle(asked: Asked, reported: Reported, counted: Usage | None, prices: Prices, when: datetime) -> Spending:
    """What an attempt that has ended spent: by its transcript where that has figures, else by its results.

    The cost is the agent's own figure where that can be trusted, else an estimate from the tokens. A model without a
    price has no cost, which is not 0.
    """
    own = own_cost(asked, reported, counted)
    if counted is not None:
        parts = _parts(asked, counted, prices, when)
        cost = _estimate(parts) if own is None else own
        return _counted(asked, counted, parts, _or_listed(cost, asked, reported), estimated=own is None)
    cost = own
    if own is None and (reported.input_tokens or reported.output_tokens):
        tokens = Usage(reported.input_tokens or 0, reported.cache_tokens or 0, 0, reported.output_tokens or 0)
        cost = _or_listed(prices.price(asked.model, tokens, when), asked, reported)
    return Spending(
        input_tokens=reported.input_tokens,
        cache_tokens=reported.cache_tokens,
        output_tokens=reported.output_tokens,
        cost_usd=cost,
        cost_is_estimated=None if cost is None else own is None,
        model=asked.model,
    )


def claimed(reported: Reported) -> Spending:
    """Of what was run elsewhere: as it says."""
    return Spending(
        input_tokens=reported.input_tokens,
        cache_tokens=reported.cache_tokens,
        output_tokens=reported.output_tokens,
        cost_usd=reported.cost_usd,
        cost_is_estimated=None if reported.cost_usd is None else False,
    )


def own_cost(asked: Asked, reported: Reported, counted: Usage | None) -> float | None:
    """The agent's own figure, None where there is none to be trusted.

    Nothing is how agents say that they do not know, and more than anybody pays is no cost. The engine's results hold a
    guess for a claude-code that has not come to its end, or that says that it does not know its model.
    """
    if asked.agent == CLAUDE_CODE and _elsewhere(asked):
        return None
    if counted is not None and counted.cost_usd is not None:
        return counted.cost_usd
    if asked.agent in PRICED_BY_LISTS or (asked.agent == CLAUDE_CODE and counted is not None):
        return None
    return plausible(reported.cost_usd)


class _Part(NamedTuple):
    """What one model has used."""

    name: str
    """As the program writes it."""
    tokens: int
    """Programs name models that answered nothing."""
    cost: float | None

    @property
    def unpriced(self) -> bool:
        return self.cost is None and self.tokens > 0


def _parts(asked: Asked, counted: Usage, prices: Prices, when: datetime) -> Sequence[_Part]:
    return [
        _Part(name, usage.tokens, _price(_names(asked, name), usage, prices, when))
        for name, usage in counted.by_model.items()
    ]


def _estimate(parts: Iterable[_Part]) -> float | None:
    """What the tokens cost, each model's by its own price; None when one of the models that used some has none."""
    return None if any(part.unpriced for part in parts) else _sum(parts)


def _sum(parts: Iterable[_Part]) -> float | None:
    """Of those whose cost is known; None where none is."""
    known = [part.cost for part in parts if part.cost is not None]
    return math.fsum(known) if known else None


def _unpriced(asked: Asked, parts: Iterable[_Part]) -> str | None:
    """Of the models that used tokens and have no price, the one that used most."""
    found = max((part for part in parts if part.unpriced), key=lambda part: part.tokens, default=None)
    if found is None:
        return None
    is_asked = not found.name or f"/{asked.model or ''}".endswith(f"/{found.name}")
    return asked.model if is_asked else found.name


def _price(names: Iterator[str | None], tokens: Tokens, prices: Prices, when: datetime) -> float | None:
    found = (prices.price(name, tokens, when) for name in names)
    return next((cost for cost in found if cost is not None), None)


def _names(asked: Asked, name: str) -> Iterator[str | None]:
    """Under which a model that a program names may have a price: programs leave out the provider."""
    if not name:
        yield asked.model
        return
    provider, slash, asked_name = (asked.model or "").rpartition("/")
    if name in (asked.model, asked_name):
        yield asked.model
    if slash and "/" not in name:
        yield f"{provider}/{name}"
    yield name


def _counted(asked: Asked, counted: Usage, parts: Sequence[_Part], cost: float | None, *, estimated: bool) -> Spending:
    unpriced = _unpriced(asked, parts) if cost is None else None
    return Spending(
        input_tokens=counted.input_tokens,
        cache_tokens=counted.cache_tokens,
        cache_write_tokens=counted.cache_write_tokens,
        output_tokens=counted.output_tokens,
        cost_usd=cost,
        cost_is_estimated=None if cost is None else estimated,
        model=unpriced or asked.model or next(filter(None, counted.by_model), None),
    )


def _or_listed(cost: float | None, asked: Asked, reported: Reported) -> float | None:
    """Where no price of ours is known, the one of the list that the engine went by."""
    return cost if cost is not None or asked.agent not in PRICED_BY_LISTS else plausible(reported.cost_usd)


def _elsewhere(asked: Asked) -> bool:
    host = urlsplit(asked.env.get("ANTHROPIC_BASE_URL", "")).hostname or ""
    provider = (normalise_model(asked.model) or "").partition("/")[0]
    return provider in THIRD_PARTIES or any(host == name or host.endswith(f".{name}") for name in _THIRD_HOSTS)
