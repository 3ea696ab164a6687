"""Which trials are given the registry logins of a submission. Pure."""

from collections.abc import Sequence

from oddish.errors import InvalidInput
from oddish.registries import RegistryLogin

USING = frozenset({"docker"})
WITHOUT_IMAGES = frozenset({"local"})
"""Environments that fetch nothing from a registry, so that logins are neither needed nor kept."""


class UnusableLogin(InvalidInput):
    """Registry logins for an environment that fetches images by other means."""

    code = "unusable_registry_login"


def logins_for(environment: str, logins: Sequence[RegistryLogin]) -> Sequence[RegistryLogin]:
    """Those of ``logins`` that trials in ``environment`` get. Raises ``UnusableLogin``."""
    if environment in USING:
        return logins
    if logins and environment not in WITHOUT_IMAGES:
        raise UnusableLogin(
            f"registry_auth cannot be used in the environment {environment!r}, whose provider fetches the images.",
            fix="Leave it out and sign in at the provider, or choose --env docker.",
        )
    return ()
