"""What a deployment allows and assumes of submissions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from oddish.pricing import Prices
from oddish.trials.doors import NONE, Doors
from oddish.trials.environments import Environments


@dataclass(frozen=True)
class Policy:
    """What the deployment allows and assumes."""

    max_attempts: int
    secret_retention: timedelta
    local: bool
    harbor_sources: Sequence[str] = ()
    """Patterns of the places that another Harbor may come from."""
    harbor_repository: str = ""
    """Where a branch, tag or commit is looked for when no repository is named."""
    doors: Doors = NONE
    environments: Environments = field(default_factory=Environments)
    prices: Prices = field(default_factory=Prices)
