"""Limits of what runs at once; reading takes a key of scope ``full``, changing one of an admin."""

from typing import TYPE_CHECKING, cast

from oddish.client.shapes import items, members
from oddish.client.types import JSON, Limit, Weight
from oddish.client.types import Limits as Listed

if TYPE_CHECKING:
    from oddish.client.connection import Connection

OWN_ORGANISATION = "org"
"""The cap of the caller's organisation."""
OWN_GATEWAY = "gateway"
"""The cap of its trials of the gateway."""
OWN_ARCHIVES = "archive"
"""The cap of the archives that are fetched for these."""


def provider(name: str) -> str:
    """The cap of a provider."""
    return f"provider:{name}"


class Limits:
    def __init__(self, connection: "Connection") -> None:
        self._connection = connection

    def list(self) -> Listed:
        """Keys, caps and the weights of users."""
        found = members(self._connection.call("GET", "/admin/concurrency"), Listed, "keys", "caps")
        for entries in (found["keys"], found["caps"]):
            items(cast("JSON", entries), Limit, "limit", "running")
        return found

    def set(self, limit: int | None, *, key: str | None = None, cap: str | None = None) -> Limit:
        """Limit a queue key or a cap from the next claim on; None returns to the deployment's limit."""
        return self._put({"limit": limit} | ({"cap": cap} if key is None else {"queue_key": key}))

    def pause(self, key: str, *, paused: bool) -> Limit:
        """Claim no more jobs of a queue key, or go on; what runs is left to end."""
        return self._put({"queue_key": key, "paused": paused})

    def weigh(self, user: str, weight: float) -> Weight:
        """Change how much a user gets beside others."""
        body = {"user": user, "weight": weight}
        return members(self._connection.call("PUT", "/admin/weights", body=body, repeatable=True), Weight, "user")

    def _put(self, body: dict[str, object]) -> Limit:
        answer = self._connection.call("PUT", "/admin/concurrency", body=body, repeatable=True)
        return members(answer, Limit, "limit", "deploy_limit", "override_limit", "running", "paused")
