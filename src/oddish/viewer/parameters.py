"""Values in the query of an address: read, or refused by their name, what they are and what could stand there. Pure."""

from collections.abc import Iterable
from itertools import islice

from oddish.errors import InvalidInput
from oddish.viewer.fields import shown

OFFERED = 12
"""Values that a refusal names."""
_DIGITS = 9


def whole(name: str, text: str | None, usual: int, *, most: int | None = None) -> int:
    """A whole number from 1 to ``most``; ``usual`` where there is no text. Raises ``InvalidInput``."""
    if not text:
        return usual
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= _DIGITS else 0
    if number < 1 or (most is not None and number > most):
        bound = f"from 1 to {most}" if most else "from 1"
        raise InvalidInput(
            f"{name} is {shown(text)}, no whole number {bound}.", fix=f"Correct {name}, or leave it out of the address."
        )
    return number


def one_of(name: str, text: str, there: Iterable[str]) -> str:
    """``text``, if it is one of those that are there. Raises ``InvalidInput``."""
    known = list(dict.fromkeys(there))
    if text not in known:
        raise InvalidInput(f"{name} is {shown(text)}, which is not there to choose.", fix=offered(known))
    return text


def offered(there: Iterable[str]) -> str:
    """What to name instead, as far as a sentence holds it."""
    first = list(islice(there, OFFERED + 1))
    if not first:
        return "There is none to choose."
    named = ", ".join([*(shown(value)[1:-1] for value in first[:OFFERED]), *["…"] * (len(first) > OFFERED)])
    return f"Choose one of {named}." if len(first) > 1 else f"Choose {named}."
