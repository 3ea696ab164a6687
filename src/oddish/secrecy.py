"""What is a secret: the values of variables that are named like one. Standard library only."""

import re

SHORTEST_SECRET = 8
"""Characters. Shorter values stand in ordinary text by chance, where replacing them would only do harm."""

_SECRET_NAME = re.compile(r"KEY|SECRET|TOKEN|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name holds a secret."""
    return _SECRET_NAME.search(name) is not None
