"""Tokens and costs in words. A tilde marks what was worked out from tokens and prices."""

from collections.abc import Mapping, Sequence

from oddish.money import dollars

NOT_KNOWN = "not known"
"""What something costs that has no price; never 0."""


def used(usage: Mapping[str, object]) -> bool:
    """Whether anything is said of what was used."""
    return any(usage.get(name) is not None for name in ("input_tokens", "output_tokens", "cost_usd"))


def tokens(usage: Mapping[str, object]) -> str | None:
    """How many went in and came out; None where that is not known."""
    read, written = usage.get("input_tokens"), usage.get("output_tokens")
    if read is None and written is None:
        return None
    parts = {"cached": usage.get("cache_tokens"), "written to a cache": usage.get("cache_write_tokens")}
    of_cache = ", ".join(f"{count:,} {what}" for what, count in parts.items() if count)
    return f"{read or 0:,} in" + (f" ({of_cache})" if of_cache else "") + f", {written or 0:,} out"


def cost(usage: Mapping[str, object]) -> str | None:
    """In US dollars, ``~`` before an estimate; None where it is not known."""
    amount = _known(usage)
    return None if amount is None else f"{'~' if usage.get('cost_is_estimated') else ''}${amount:.4f}"


def spent(usage: Mapping[str, object]) -> str | None:
    """Tokens and cost on one line; None where nothing is known of them."""
    counts, amount = tokens(usage), cost(usage)
    return amount if counts is None else f"{counts}, {amount or 'cost unknown'}"


def unpriced(usage: Mapping[str, object]) -> str | None:
    """Why there is no cost; None where nothing was used."""
    used_tokens = usage.get("input_tokens") or usage.get("output_tokens")
    return f"{NOT_KNOWN}: a model that it used has no price" if used_tokens else None


def total_cost(usages: Sequence[Mapping[str, object]]) -> str:
    """Of those that used something; that some is not known is said beside the rest."""
    spent = list(filter(used, usages))
    known = [amount for usage in spent if (amount := _known(usage)) is not None]
    if not known:
        return NOT_KNOWN if spent else "–"
    estimated = any(usage.get("cost_is_estimated") for usage in spent)
    return f"{'~' if estimated else ''}{dollars(sum(known))}{' and more' if len(known) < len(spent) else ''}"


def _known(usage: Mapping[str, object]) -> float | None:
    amount = usage.get("cost_usd")
    return float(amount) if isinstance(amount, int | float) else None
