"""What a caller sent, short enough to be logged and to be sent back."""

MOST_CHARACTERS = 1000


def excerpt(text: str) -> str:
    """``text`` itself, or its first 1,000 characters and an ellipsis."""
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}..."
