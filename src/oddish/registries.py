"""Logins at container registries: what is accepted as one. Standard library only; the command line reads them, too."""

import base64
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from oddish.errors import InvalidInput
from oddish.secrecy import SHORTEST_SECRET

DOCKER_HUB = "docker.io"
MOST_LOGINS = 20
LONGEST_TOKEN = 20_000
"""Characters; some registries take a whole key file."""

_HUB_HOSTS = frozenset({DOCKER_HUB, "index.docker.io", "registry-1.docker.io"})
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*(?::\d{1,5})?")
_USER = re.compile(r"[^\s:\x00-\x1f\x7f](?:[^:\x00-\x1f\x7f]{0,254})")


class InvalidLogin(InvalidInput):
    """Something that is no login at a registry."""

    code = "invalid_registry_login"


@dataclass(frozen=True, slots=True)
class RegistryLogin:
    """One account at one registry."""

    registry: str
    """Host, and port if it has one; ``docker.io`` for Docker Hub."""
    username: str
    token: str = field(repr=False)

    @classmethod
    def of(cls, username: str, token: str, registry: str = DOCKER_HUB) -> Self:
        """Raises ``InvalidLogin``."""
        host = registry.strip().lower()
        if len(host) > 255 or not _HOST.fullmatch(host):
            raise InvalidLogin(
                f"{registry[:100]!r} is no host of a registry.",
                fix="Give the host alone, such as ghcr.io or registry.example:5000.",
            )
        if not _USER.fullmatch(username):
            raise InvalidLogin(
                f"The user name for the registry {host} is empty, too long or holds a colon or a control character.",
                fix="Give the name of the account.",
            )
        if not token.strip() or len(token) > LONGEST_TOKEN or "\0" in token:
            raise InvalidLogin(
                f"The token for the registry {host} is empty, longer than {LONGEST_TOKEN} characters or holds a NUL.",
                fix="Give an access token of the account.",
            )
        return cls(DOCKER_HUB if host in _HUB_HOSTS else host, username, token)

    @classmethod
    def from_record(cls, record: Mapping[str, str]) -> Self:
        return cls(record["registry"], record["username"], record["token"])

    def record(self) -> dict[str, str]:
        return {"registry": self.registry, "username": self.username, "token": self.token}

    @property
    def basic(self) -> str:
        """As it is sent and as Docker keeps it: user name and token in base64."""
        return base64.b64encode(f"{self.username}:{self.token}".encode()).decode()


def refuse_twice(logins: Collection[RegistryLogin]) -> None:
    """Raise ``InvalidLogin`` for two logins at one registry, and for too many."""
    seen: set[str] = set()
    for login in logins:
        if login.registry in seen:
            raise InvalidLogin(f"There are two logins at the registry {login.registry}.", fix="Give one of them.")
        seen.add(login.registry)
    if len(logins) > MOST_LOGINS:
        raise InvalidLogin(f"There are more than {MOST_LOGINS} registry logins.", fix="Leave some out.")


def login_secrets(logins: Iterable[RegistryLogin]) -> frozenset[str]:
    """The values to keep out of sight, in both forms."""
    return frozenset(
        secret for login in logins for secret in (login.token, login.basic) if len(login.token) >= SHORTEST_SECRET
    )
