"""Values that must not be stored in the clear, recognised by the names they go by."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from oddish.errors import InvalidInput
from oddish.registries import RegistryLogin
from oddish.secrecy import SHORTEST_SECRET, is_secret

_SECRET_WORDS = frozenset(
    {"key", "apikey", "secret", "token", "password", "passwd", "passphrase", "credential", "credentials", "auth"}
    | {"authorization"}
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")
"""Of a name in whatever style: api_key, accessToken, X-Auth."""


class PlainSecret(InvalidInput):
    """A credential in a place that is stored as it is."""

    code = "plain_secret"


@dataclass(frozen=True)
class Confidential:
    """What is stored encrypted of one configuration of a submission."""

    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Values of secret-named variables of ``agent_config.env``."""
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables for the attempts that name them."""
    logins: Sequence[RegistryLogin] = field(default=(), repr=False)

    def __bool__(self) -> bool:
        return bool(self.env or self.credentials or self.logins)

    def plaintext(self) -> bytes:
        document: dict[str, object] = {"env": dict(self.env), "credentials": dict(self.credentials)}
        if self.logins:
            document["registry_auth"] = [login.record() for login in self.logins]
        return json.dumps(document).encode()

    @classmethod
    def from_plaintext(cls, plaintext: bytes) -> "Confidential":
        """Rows of the first release hold the variables of ``env`` alone."""
        document = json.loads(plaintext)
        env = document.get("env")
        if not isinstance(env, dict):
            return cls(env=document)
        logins = tuple(map(RegistryLogin.from_record, document.get("registry_auth", ())))
        return cls(env=env, credentials=document["credentials"], logins=logins)


def split_env(env: Mapping[str, str]) -> tuple[dict[str, str | None], dict[str, str]]:
    """``env`` as it may be shown, secret variables without a value, and those values apart."""
    hidden = {name: value for name, value in env.items() if is_secret(name, value)}
    return {name: None if name in hidden else value for name, value in env.items()}, hidden


def plain_secrets(value: object) -> Iterator[str]:
    """The texts under names such as ``api_key``, however deep in ``value``."""
    members = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    if isinstance(value, Mapping):
        yield from (member for name, member in value.items() if _is_plain_secret(name, member))
    for member in members:
        yield from plain_secrets(member)


def refuse_plain_secrets(where: str, value: object) -> None:
    """Raise ``PlainSecret`` for a text under a name such as ``api_key``, however deep in ``value``."""
    if isinstance(value, Mapping):
        for name, member in value.items():
            if _is_plain_secret(name, member):
                raise PlainSecret(
                    f"{where}.{name} looks like a credential and would be stored in the clear.",
                    fix="Pass it as a variable in agent_config.env, which is encrypted.",
                )
            refuse_plain_secrets(f"{where}.{name}", member)
    elif isinstance(value, list):
        for index, member in enumerate(value):
            refuse_plain_secrets(f"{where}.{index}", member)


def _is_plain_secret(name: object, member: object) -> bool:
    words = {word.lower() for word in _WORD.findall(str(name))}
    return isinstance(member, str) and len(member) >= SHORTEST_SECRET and bool(words & _SECRET_WORDS)
