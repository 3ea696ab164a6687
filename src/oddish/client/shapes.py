"""Whether an answer has what is needed of it: anything may listen at an address, and speak JSON too."""

from typing import cast

from oddish.client.errors import UnexpectedAnswer
from oddish.client.types import JSON


def members[Shape](answer: JSON, shape: type[Shape], *needed: str) -> Shape:
    """``answer`` as ``shape``. Raises ``UnexpectedAnswer`` unless it is an object with the members ``needed``."""
    if not isinstance(answer, dict):
        raise misshapen(f"no {shape.__name__}, which is an object")
    missing = [name for name in needed if name not in answer]
    if missing:
        raise misshapen(f"no {shape.__name__}, which has {', '.join(missing)}")
    if not isinstance(answer.get("id", ""), str):
        raise misshapen(f"no {shape.__name__}, whose id is text")
    return cast("Shape", answer)


def items[Shape](answer: JSON, shape: type[Shape], *needed: str) -> list[Shape]:
    """``answer`` as a list of ``shape``, each as ``members`` takes it."""
    if not isinstance(answer, list):
        raise misshapen(f"no list of {shape.__name__}")
    return [members(entry, shape, *needed) for entry in answer]


def misshapen(reason: str) -> UnexpectedAnswer:
    return UnexpectedAnswer(
        f"The answer of the server is {reason}.",
        fix="Check that the address is that of an oddish server, and that its version fits this one.",
    )
