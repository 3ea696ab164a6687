"""Tokens and costs in words."""

from collections.abc import Mapping


def tokens(usage: Mapping[str, object]) -> str | None:
    """How many went in and came out; None where that is not known."""
    read, written, cached = (usage.get(name) for name in ("input_tokens", "output_tokens", "cache_tokens"))
    if read is None and written is None:
        return None
    return f"{read or 0} in" + (f" ({cached} cached)" if cached else "") + f", {written or 0} out"


def cost(usage: Mapping[str, object]) -> str | None:
    """In US dollars, ``~`` before an estimate; None where it is not known."""
    amount = usage.get("cost_usd")
    if not isinstance(amount, int | float):
        return None
    return f"{'~' if usage.get('cost_is_estimated') else ''}${amount:.4f}"
