"""Values that must not be stored in the clear, recognised by the names they go by."""

import re
from collections.abc import Mapping

from oddish.errors import InvalidInput
from oddish.secrecy import SHORTEST_SECRET, is_secret_name

_SECRET_WORDS = frozenset({"key", "apikey", "secret", "token", "password", "credential", "credentials", "auth"})


class PlainSecret(InvalidInput):
    """A credential in a place that is stored as it is."""

    code = "plain_secret"


def split_env(env: Mapping[str, str]) -> tuple[dict[str, str | None], dict[str, str]]:
    """``env`` as it may be shown, secret-named variables without a value, and those values apart."""
    hidden = {name: value for name, value in env.items() if is_secret_name(name)}
    return {name: None if name in hidden else value for name, value in env.items()}, hidden


def refuse_plain_secrets(where: str, value: object) -> None:
    """Raise ``PlainSecret`` for a text under a name such as ``api_key``, however deep in ``value``."""
    if isinstance(value, Mapping):
        for name, member in value.items():
            words = set(re.split(r"[^a-z0-9]+", str(name).lower()))
            if isinstance(member, str) and len(member) >= SHORTEST_SECRET and words & _SECRET_WORDS:
                raise PlainSecret(
                    f"{where}.{name} looks like a credential and would be stored in the clear.",
                    fix="Pass it as a variable in agent_config.env, which is encrypted.",
                )
            refuse_plain_secrets(f"{where}.{name}", member)
    elif isinstance(value, list):
        for index, member in enumerate(value):
            refuse_plain_secrets(f"{where}.{index}", member)
