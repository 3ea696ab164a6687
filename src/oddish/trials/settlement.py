"""Settlement: what an attempt that has ended cost, from what its agent reported and from its tokens. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlsplit

from oddish.engine.results import Usage
from oddish.pricing import Prices
from oddish.queue.keys import normalise_model
from oddish.trials.ledger import Spending

PRICED_BY_LISTS = frozenset({"codex", "cursor-cli", "gemini-cli", "qwen-coder"})
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


def settle(asked: Asked, reported: Usage, prices: Prices, when: datetime) -> Spending:
    """What an attempt spent: its agent's own figure where that can be trusted, else an estimate from its tokens.

    A model without a price has no cost, which is not 0.
    """
    own = reported.cost_usd if trustworthy(asked, reported) else None
    cost = own if own is not None else _estimate(asked, reported, prices, when)
    return Spending(
        input_tokens=reported.input_tokens,
        cache_tokens=reported.cache_tokens,
        output_tokens=reported.output_tokens,
        cost_usd=cost,
        cost_is_estimated=None if cost is None else own is None,
        model=asked.model,
    )


def claimed(reported: Usage) -> Spending:
    """Of what was run elsewhere: as it says."""
    return Spending(
        input_tokens=reported.input_tokens,
        cache_tokens=reported.cache_tokens,
        output_tokens=reported.output_tokens,
        cost_usd=reported.cost_usd,
        cost_is_estimated=None if reported.cost_usd is None else False,
    )


def trustworthy(asked: Asked, reported: Usage) -> bool:
    """Whether the reported cost is the agent's own and no guess. Nothing for something is how agents say unknown."""
    if reported.cost_usd is None or asked.agent in PRICED_BY_LISTS:
        return False
    if reported.cost_usd <= 0 and (reported.input_tokens or reported.output_tokens):
        return False
    return asked.agent != CLAUDE_CODE or not _elsewhere(asked)


def _elsewhere(asked: Asked) -> bool:
    host = urlsplit(asked.env.get("ANTHROPIC_BASE_URL", "")).hostname or ""
    provider = (normalise_model(asked.model) or "").partition("/")[0]
    return provider in THIRD_PARTIES or any(host == name or host.endswith(f".{name}") for name in _THIRD_HOSTS)


@dataclass(frozen=True)
class _Tokens:
    input_tokens: int
    cache_tokens: int
    output_tokens: int
    cache_write_tokens: int = 0


def _estimate(asked: Asked, reported: Usage, prices: Prices, when: datetime) -> float | None:
    """From our prices, else from the list that the engine went by."""
    if reported.input_tokens is None and reported.output_tokens is None:
        return None
    tokens = _Tokens(reported.input_tokens or 0, reported.cache_tokens or 0, reported.output_tokens or 0)
    listed = reported.cost_usd if asked.agent in PRICED_BY_LISTS else None
    return prices.price(asked.model, tokens, when) or listed or None
