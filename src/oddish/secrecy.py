"""What is a secret: the values of variables that are named like one, and all credentials. Standard library only."""

import re
from collections.abc import Mapping

SHORTEST_SECRET = 8
"""Characters. Shorter values stand in ordinary text by chance, where replacing them would only do harm."""

_SECRET_NAME = re.compile(r"KEY|SECRET|TOKEN|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
_ADDRESS_NAME = re.compile(
    r".*_(BASE_URL|API_BASE|API_URL|ENDPOINT|HOST|REGION|REGION_NAME|LOCATION|PROJECT|PROFILE|API_VERSION|RESOURCE_NAME)"
)
"""Where a service is and which part of it is meant: said with a key, and no secret."""
_CREDENTIAL_IN_ADDRESS = re.compile(r"[@?]")


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name holds a secret."""
    return _SECRET_NAME.search(name) is not None


def credential_values(env: Mapping[str, str]) -> frozenset[str]:
    """The values to keep out of sight of variables handed over as credentials, all but plain addresses and regions."""
    return frozenset(
        value
        for name, value in env.items()
        if len(value) >= SHORTEST_SECRET
        and (is_secret_name(name) or _CREDENTIAL_IN_ADDRESS.search(value) or not _ADDRESS_NAME.fullmatch(name))
    )
