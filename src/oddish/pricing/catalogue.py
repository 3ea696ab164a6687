"""The catalogue: prices that are published, as the package genai-prices holds them. Nothing is fetched.

The package is big: it is imported at the first look-up, which takes about a second.
"""

from datetime import datetime
from functools import lru_cache
from typing import Any

from oddish.pricing.rates import Rates

_PROVIDERS = {"bedrock": "aws", "moonshot": "moonshotai", "together_ai": "together", "xai": "x-ai", "zhipu": "zhipuai"}
"""Where the catalogue spells a provider in another way than queue keys do."""


def published(provider: str | None, name: str, when: datetime) -> Rates | None:
    """The rates of a model in the hour of a moment, None where it is not listed.

    Of prices that depend on the length of a request the one of short requests is taken.
    """
    return _published(provider, name, when.replace(minute=0, second=0, microsecond=0))


@lru_cache(maxsize=4096)
def _published(provider: str | None, name: str, hour: datetime) -> Rates | None:
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, model = get_snapshot().find_provider_model(name, None, _PROVIDERS.get(provider or "", provider), None)
    except LookupError:
        return None
    listed = model.get_prices(hour)
    reading, writing = _base(listed.input_mtok), _base(listed.output_mtok)
    if reading is None or writing is None:
        return None
    return Rates.of(reading, writing, _base(listed.cache_read_mtok), _base(listed.cache_write_mtok))


def _base(price: Any) -> float | None:
    return None if price is None else float(getattr(price, "base", price))
