"""``--max-cost``: what the trials of a run may cost together."""

import math
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import click

from oddish.cli.output import notice
from oddish.cli.text import joined
from oddish.cli.trials import BASELINES


class _Amount(click.FloatRange):
    """What is neither endless nor no number at all, as Python's numbers may be."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        amount = float(super().convert(value, param, ctx))
        if not math.isfinite(amount):
            self.fail(f"{amount} is no amount of money.", param, ctx)
        return amount


max_cost_option = click.option(
    "--max-cost",
    type=_Amount(min=0, min_open=True),
    metavar="USD",
    help="Cancel what waits or runs of these trials when they have cost about this much together, in US dollars.",
)


@dataclass(frozen=True)
class CostLimit:
    usd: float
    run: str
    """What tells this run from others in its experiment; nothing, where the experiment is the run's own."""

    @classmethod
    def of(cls, usd: float | None, *, named: bool) -> "CostLimit | None":
        """``named``: the run goes to an experiment that somebody named, and that others may go to as well."""
        return None if usd is None else cls(usd, f".{secrets.token_hex(4)}" if named else "")

    def budget(self, experiment: str) -> str:
        """What the submissions of the run share; a command that goes on after an interruption shares it as well."""
        return f"{experiment}{self.run}"


def tell_unread(agents: Iterable[str]) -> None:
    """Say of which agents it is known only at the end of an attempt what it has cost."""
    from oddish.transcript.registry import ADAPTERS  # only a run with a limit needs to know

    unread = sorted({agent for agent in agents if agent not in ADAPTERS and agent not in BASELINES})
    if unread:
        notice(
            f"What {joined(unread)} spends is known when an attempt ends: --max-cost stops others, not running ones."
        )
