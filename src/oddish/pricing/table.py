"""Tables of prices with the dates from which they hold: our own, and an operator's."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from pathlib import Path

from oddish.documents import finite_number, mapping
from oddish.errors import OddishError
from oddish.pricing.names import candidates
from oddish.pricing.rates import Rates
from oddish.queue.keys import normalise_model

OWN = Path(__file__).with_name("prices.json")
MOST = 1_000_000
"""USD for a million tokens; sums of what is more might have no end."""
_RATES = ("input", "output", "cache_read", "cache_write")
_FIELDS = frozenset({*_RATES, "from", "source"})
_SHAPE = (
    'Write it as {"provider/model": [{"from": "2026-01-31", "input": 3, "output": 15, "cache_read": 0.3, '
    '"cache_write": 3.75}]}, in USD per million tokens; "from" and what is of a cache may be left out.'
)


class UnreadablePrices(OddishError):
    """A table of prices that a process cannot start with."""

    code = "unreadable_prices"


@dataclass(frozen=True, slots=True)
class Price:
    """Rates that hold from a moment on, until a later entry of the same model."""

    since: datetime
    rates: Rates


@dataclass(frozen=True)
class Table:
    entries: Mapping[str, tuple[Price, ...]]
    """By ``provider/model`` as queue keys spell it, each oldest first."""

    @classmethod
    def read(cls, path: Path) -> "Table":
        """Raises ``UnreadablePrices``, which names the file, the entry and the value."""
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise UnreadablePrices(f"{path} cannot be read: {error.strerror}.") from error
        except (ValueError, RecursionError) as error:
            raise UnreadablePrices(f"{path} is no JSON: {error}.", fix=_SHAPE) from error
        if not isinstance(document, dict):
            raise UnreadablePrices(f"{path} holds no JSON object.", fix=_SHAPE)
        entries: dict[str, tuple[Price, ...]] = {}
        for name, listed in document.items():
            model = normalise_model(name)
            if model is None:
                raise UnreadablePrices(f"{path}: {name!r} names no model.", fix=_SHAPE)
            if model in entries:
                raise UnreadablePrices(f"{path}: {model!r} is priced twice, once as {name!r}.", fix="Keep one of them.")
            if not isinstance(listed, list) or not listed:
                raise UnreadablePrices(f"{path}: {name!r} has no list of prices.", fix=_SHAPE)
            prices = [_price(f"{path}: {name!r}", entry) for entry in listed]
            if len({price.since for price in prices}) < len(prices):
                raise UnreadablePrices(f"{path}: {name!r} has two prices from the same day.", fix="Keep one of them.")
            entries[model] = tuple(sorted(prices, key=lambda price: price.since))
        return cls(entries)

    def rates(self, model: str, when: datetime) -> Rates | None:
        """Of the most specific name that has an entry which held at that moment."""
        for provider, name in candidates(model):
            for price in reversed(self.entries.get(f"{provider}/{name}" if provider else name, ())):
                if price.since <= when:
                    return price.rates
        return None


def _price(place: str, entry: object) -> Price:
    fields = mapping(entry)
    if not fields:
        raise UnreadablePrices(f"{place}: {entry!r} is no price.", fix=_SHAPE)
    if unknown := sorted(fields.keys() - _FIELDS):
        raise UnreadablePrices(f"{place}: {unknown[0]!r} is no part of a price.", fix=_SHAPE)
    rates: dict[str, float | None] = {}
    for name in _RATES:
        rates[name] = finite_number(fields.get(name))
        if rates[name] is None and (name in fields or name in ("input", "output")):
            raise UnreadablePrices(f"{place}: {name} is {fields.get(name)!r}, which is no number.", fix=_SHAPE)
        if (rates[name] or 0) < 0:
            raise UnreadablePrices(f"{place}: {name} is {fields[name]!r}, which is below 0.", fix=_SHAPE)
        if (rates[name] or 0) > MOST:
            raise UnreadablePrices(f"{place}: {name} is {fields[name]!r}, which is above {MOST:,}.", fix=_SHAPE)
    reading, writing = rates["input"], rates["output"]
    assert reading is not None and writing is not None  # noqa: S101, PT018
    return Price(
        _since(place, fields.get("from", date.min.isoformat())),
        Rates.of(reading, writing, rates["cache_read"], rates["cache_write"]),
    )


def _since(place: str, value: object) -> datetime:
    try:
        day = date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        day = None
    if day is None:
        raise UnreadablePrices(f"{place}: from is {value!r}, which is no day such as 2026-01-31.", fix=_SHAPE)
    return datetime.combine(day, time.min, UTC)
