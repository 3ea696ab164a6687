"""Tokens and cost as agents report them. Pure; standard library only."""

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from oddish.documents import finite_number
from oddish.storable import storable
from oddish.transcript.events import NAME_LIMIT

UNNAMED = ""
"""The model of tokens whose log names none, and of those beyond ``MAX_MODELS``."""
MAX_MODELS = 64
MAX_KEYS = 16_384
"""Answers that are remembered; older ones stay counted, but are not known again."""
MOST_TOKENS = 10**12
"""In one report; more is nonsense, and sums of these fit into 64 bits."""
MOST_COST = 1e9
COUNT_LIMIT = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of all requests that were answered."""

    input_tokens: int = 0
    """All input: uncached, read from a cache and written to one."""
    cache_tokens: int = 0
    """Of the input, what was read from a cache."""
    cache_write_tokens: int = 0
    """Of the input, what was written to a cache."""
    output_tokens: int = 0
    """Reasoning included."""
    cost_usd: float | None = None
    """The program's own figure; None where it has none, or says itself that it does not know the prices."""
    by_model: Mapping[str, "Usage"] = field(default_factory=dict)
    """The same by the name of the model as the program writes it, ``UNNAMED`` where it names none."""

    @property
    def known(self) -> bool:
        """Whether the program reported anything at all."""
        return bool(self.by_model)

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def not_below(self, earlier: "Usage") -> "Usage":
        """This, with no total below that of ``earlier``; the figures by model stay as they are."""
        return replace(
            self,
            input_tokens=max(self.input_tokens, earlier.input_tokens),
            cache_tokens=max(self.cache_tokens, earlier.cache_tokens),
            cache_write_tokens=max(self.cache_write_tokens, earlier.cache_write_tokens),
            output_tokens=max(self.output_tokens, earlier.output_tokens),
        )


class Figures(NamedTuple):
    """What one answer or one report came to."""

    input: int
    cached: int
    written: int
    output: int
    cost: float | None = None

    def joined(self, other: "Figures") -> "Figures":
        """The larger of each."""
        if self == other:
            return self
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Figures(
            max(self.input, other.input),
            max(self.cached, other.cached),
            max(self.written, other.written),
            max(self.output, other.output),
            max(costs) if costs else None,
        )

    def plus(self, other: "Figures") -> "Figures":
        """The sum; its cost is known if both are."""
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Figures(
            self.input + other.input,
            self.cached + other.cached,
            self.written + other.written,
            self.output + other.output,
            cost,
        )

    @property
    def unpriced(self) -> bool:
        return self.cost is None and bool(self.input or self.output)


NOTHING = Figures(0, 0, 0, 0)


def beside_cache(uncached: object, cached: object, written: object, output: object, cost: object = None) -> Figures:
    """Figures of a program whose input leaves out what the cache read and took."""
    read, wrote = tokens(cached), tokens(written)
    return Figures(tokens(uncached) + read + wrote, read, wrote, tokens(output), price(cost))


def with_cache(total: object, cached: object, written: object, output: object, cost: object = None) -> Figures:
    """Figures of a program whose input includes what the cache read and took."""
    read, wrote = tokens(cached), tokens(written)
    return Figures(max(tokens(total), read + wrote), read, wrote, tokens(output), price(cost))


def tokens(value: object) -> int:
    """A number of tokens; 0 for what is none."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else 0


def price(value: object) -> float | None:
    """A cost in USD. Programs that do not know a price say 0, so that is None as well."""
    number = finite_number(value)
    return number if number is not None and 0 < number <= MOST_COST else None


def model_name(value: object) -> str:
    """The name of a model as it is kept; ``UNNAMED`` for what is none."""
    return str(storable(value[:NAME_LIMIT])) if isinstance(value, str) else UNNAMED


class Tally:
    """Adds up reports, each under a key: what is reported again under a key counts once, with its larger figures."""

    def __init__(self) -> None:
        self._reports: OrderedDict[int, tuple[str, Figures]] = OrderedDict()
        self._sums: dict[str, Figures] = {}
        self._unpriced: dict[str, int] = {}

    def put(self, key: Hashable, model: str, figures: Figures) -> None:
        """Count ``figures`` under ``key``. The first model named under a key stays."""
        key = hash(key)  # Whatever is given as a key, a number is kept.
        if key in self._reports:
            name, before = self._reports[key]
            now = before.joined(figures)
            if now == before:
                return
        else:
            name = model if model in self._sums or len(self._sums) < MAX_MODELS else UNNAMED
            before, now = NOTHING, figures
        self._reports[key] = (name, now)
        if len(self._reports) > MAX_KEYS:
            self._reports.popitem(last=False)
        total = self._sums.get(name, Figures(0, 0, 0, 0, 0.0))
        self._sums[name] = Figures(
            min(total.input + now.input - before.input, COUNT_LIMIT),
            min(total.cached + now.cached - before.cached, COUNT_LIMIT),
            min(total.written + now.written - before.written, COUNT_LIMIT),
            min(total.output + now.output - before.output, COUNT_LIMIT),
            (total.cost or 0.0) + (now.cost or 0.0) - (before.cost or 0.0),
        )
        self._unpriced[name] = self._unpriced.get(name, 0) + now.unpriced - before.unpriced

    def usage(self) -> Usage:
        """The sums."""
        return total({name: self._usage(name) for name in self._sums})

    def _usage(self, name: str) -> Usage:
        sums = self._sums[name]
        cost = sums.cost if sums.cost and not self._unpriced[name] else None
        return Usage(sums.input, sums.cached, sums.written, sums.output, cost)


def total(by_model: Mapping[str, Usage]) -> Usage:
    """The sum over models. Its cost is known if it is known for all that used tokens."""
    parts = by_model.values()
    used = [part for part in parts if part.tokens]
    costs = [part.cost_usd for part in used if part.cost_usd is not None]
    return Usage(
        _sum(part.input_tokens for part in parts),
        _sum(part.cache_tokens for part in parts),
        _sum(part.cache_write_tokens for part in parts),
        _sum(part.output_tokens for part in parts),
        sum(costs) if used and len(costs) == len(used) else None,
        by_model,
    )


def priced_like(usage: Usage, priced: Usage) -> Usage:
    """``usage`` with the costs of ``priced``, which counts the same in another way."""
    by_model = {
        name: replace(part, cost_usd=priced.by_model[name].cost_usd) if name in priced.by_model else part
        for name, part in usage.by_model.items()
    }
    return replace(usage, cost_usd=priced.cost_usd, by_model=by_model)


def _sum(numbers: Iterable[int]) -> int:
    return min(sum(numbers), COUNT_LIMIT)
