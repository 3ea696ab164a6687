"""What is a secret: the values of variables that are named like one, signed addresses, and all credentials.
Standard library only."""

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
_SIGNATURE = re.compile(
    r"([?&;](?:[\w.%-]*(?:signature|token|secret|key|credential|auth(?!or)|passw)[\w.%-]*|(?:[\w.-]*[_.-])?sig)=)"
    rf"[^&;#\s\"'<>]{{{SHORTEST_SECRET},}}",
    re.IGNORECASE,
)
"""Of an address: a parameter of the query that lets whoever has it in, as in ``?X-Amz-Signature=``."""


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name holds a secret."""
    return _SECRET_NAME.search(name) is not None


def is_signed(text: str) -> bool:
    """Whether it holds an address that lets whoever has it in."""
    return _SIGNATURE.search(text) is not None


def is_secret(name: str, value: str) -> bool:
    """Whether a variable of this name and value is not to be shown."""
    return is_secret_name(name) or is_signed(value)


def without_signatures(value: object) -> object:
    """A JSON value in which addresses are shown without what they are signed with."""
    if isinstance(value, str):
        return _SIGNATURE.sub(r"\1…", value)
    if isinstance(value, Mapping):
        return {name: without_signatures(member) for name, member in value.items()}
    return [without_signatures(member) for member in value] if isinstance(value, list) else value


def credential_values(env: Mapping[str, str]) -> frozenset[str]:
    """The values to keep out of sight of variables handed over as credentials, all but plain addresses and regions."""
    return frozenset(
        value
        for name, value in env.items()
        if len(value) >= SHORTEST_SECRET
        and (is_secret_name(name) or _CREDENTIAL_IN_ADDRESS.search(value) or not _ADDRESS_NAME.fullmatch(name))
    )
