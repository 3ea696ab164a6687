"""Rates: what a million tokens of each kind cost."""

from dataclasses import dataclass
from typing import Protocol

CACHE_WRITE_FACTOR = 1.25
"""Of the input rate, where a list has no rate for writing to a cache."""
_MILLION = 1_000_000


class Tokens(Protocol):
    """Token counts. ``input_tokens`` are all that was read, those read from and written to a cache included."""

    @property
    def input_tokens(self) -> int: ...
    @property
    def cache_tokens(self) -> int: ...
    @property
    def cache_write_tokens(self) -> int: ...
    @property
    def output_tokens(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Rates:
    """In USD per million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float

    @classmethod
    def of(
        cls, input_rate: float, output_rate: float, cache_read: float | None = None, cache_write: float | None = None
    ) -> "Rates":
        """Rates of a list: what it does not say of a cache costs what the input does, and a quarter more to write."""
        return cls(
            input_rate,
            output_rate,
            input_rate if cache_read is None else cache_read,
            input_rate * CACHE_WRITE_FACTOR if cache_write is None else cache_write,
        )

    def cost(self, tokens: Tokens) -> float:
        """In USD. What a cache took part in is never more than what was read."""
        read = min(tokens.cache_tokens, tokens.input_tokens)
        written = min(tokens.cache_write_tokens, tokens.input_tokens - read)
        plain = tokens.input_tokens - read - written
        return (
            plain * self.input
            + read * self.cache_read
            + written * self.cache_write
            + tokens.output_tokens * self.output
        ) / _MILLION
