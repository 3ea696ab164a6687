"""What an export puts into a trace beside the members of the contract: its trial, and all that came of it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from oddish.documents import finite_number, mapping, mappings, text

MOST = 20
"""Rewards, and exceptions, of a trace."""


@dataclass(frozen=True, slots=True)
class Recorded:
    job: str | None
    trial: str | None
    rewards: tuple[tuple[str, float], ...]
    """By name, where a verifier gave several."""
    exceptions: tuple[tuple[str, str], ...]
    """Types and messages."""


def recorded(extra: Mapping[str, Any]) -> Recorded:
    """``extra`` is that of a trace; what is not as an export writes it is left out."""
    rewards = ((name, finite_number(value)) for name, value in mapping(extra.get("rewards")).items())
    raised = ((text(item.get("type")), text(item.get("message")) or "") for item in mappings(extra.get("exceptions")))
    return Recorded(
        job=text(extra.get("job")),
        trial=text(extra.get("trial")),
        rewards=tuple(islice(((name, value) for name, value in rewards if value is not None), MOST)),
        exceptions=tuple(islice(((kind, message) for kind, message in raised if kind is not None), MOST)),
    )
