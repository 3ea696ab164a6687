"""Prices of models: what the tokens of a run cost. Pure, but for reading the tables."""

from oddish.pricing.prices import Prices
from oddish.pricing.rates import Rates, Tokens
from oddish.pricing.table import UnreadablePrices

__all__ = ["Prices", "Rates", "Tokens", "UnreadablePrices"]
