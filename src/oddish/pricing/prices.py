"""Prices: of a model at a moment, from an operator's table, ours, and the published catalogue, in this order."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from oddish.pricing.catalogue import published
from oddish.pricing.names import candidates
from oddish.pricing.rates import Rates, Tokens
from oddish.pricing.table import OWN, Table


@dataclass(frozen=True)
class Prices:
    tables: Sequence[Table] = ()
    """The first that knows a model counts."""

    @classmethod
    def read(cls, operators: Path | None = None) -> "Prices":
        """With an operator's file before our own. Raises ``UnreadablePrices``."""
        return cls([Table.read(path) for path in (operators, OWN) if path is not None])

    def rates(self, model: str | None, when: datetime) -> Rates | None:
        """What a model cost at a moment (with a time zone); None where nobody knows."""
        if not model:
            return None
        for table in self.tables:
            if (rates := table.rates(model, when)) is not None:
                return rates
        for provider, name in candidates(model):
            if (rates := published(provider, name, when)) is not None:
                return rates
        return None

    def price(self, model: str | None, tokens: Tokens, when: datetime) -> float | None:
        """What the tokens cost, in USD; None where the model has no price, which is never 0."""
        rates = self.rates(model, when)
        return None if rates is None else rates.cost(tokens)
