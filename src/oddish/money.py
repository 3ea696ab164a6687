"""Amounts of money in words. Standard library only."""


def dollars(amount: float) -> str:
    """Cents, and what is less in two digits."""
    return f"${amount:,.2f}" if amount <= 0 or amount >= 0.01 else f"${amount:.2g}"
