"""What a worker hands on of its own environment: what its deployment lists, and only to attempts that name it."""

import os
from collections.abc import Mapping, Sequence

from oddish.variables import can_be_handed_over


def own_credentials(allowed: Sequence[str], environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables of ``environ`` that are listed, set and may be handed over."""
    return {name: environ[name] for name in allowed if environ.get(name) and can_be_handed_over(name)}
