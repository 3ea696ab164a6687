"""The API keys of the caller's organisation; a key of scope ``full`` is needed for all of it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from oddish.client.paths import segment
from oddish.client.shapes import items, members
from oddish.client.types import JSON, ApiKey, ApiKeys, NewKey, NewKeyRequest

if TYPE_CHECKING:
    from oddish.client.connection import Connection

PAGE = 200


class Keys:
    def __init__(self, connection: "Connection") -> None:
        self._connection = connection

    def create(self, request: NewKeyRequest, *, idempotency_key: str | None = None) -> NewKey:
        """Make a key; this answer is the only one that shows it, also when it had to be asked for twice."""
        return members(
            self._connection.call("POST", "/api-keys", body=request, once=True, idempotency_key=idempotency_key),
            NewKey,
            *NewKey.__required_keys__,
        )

    def list(self) -> Iterator[ApiKey]:
        """All keys, revoked and expired ones included, newest first, however many pages that takes."""
        params: dict[str, str | int | bool] = {"limit": PAGE}
        while True:
            page = members(self._connection.call("GET", "/api-keys", params=params), ApiKeys, "keys", "cursor")
            yield from items(cast("JSON", page["keys"]), ApiKey, *ApiKey.__required_keys__)
            if page["cursor"] is None:
                return
            params["cursor"] = page["cursor"]

    def revoke(self, key_id: str) -> ApiKey:
        """End a key at once; repeating it changes nothing."""
        path = f"/api-keys/{segment(key_id, 'a key')}"
        return members(self._connection.call("DELETE", path, repeatable=True), ApiKey, "id", "name", "user")
