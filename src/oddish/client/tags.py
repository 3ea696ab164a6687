"""The tags of tasks."""

import secrets
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from oddish.client.shapes import members
from oddish.client.types import Tagged

if TYPE_CHECKING:
    from oddish.client.connection import Connection


class Tags:
    def __init__(self, connection: "Connection") -> None:
        self._connection = connection

    def change(self, task_id: str, *, add: Mapping[str, str] | None = None, remove: Sequence[str] = ()) -> Tagged:
        """Take names away, then add tags: values by name, an empty value being none."""
        answer = self._connection.call(
            "POST",
            f"/tasks/{quote(task_id, safe='')}/tags",
            body={"add": dict(add or {}), "remove": list(remove)},
            idempotency_key=secrets.token_hex(16),
        )
        return members(answer, Tagged, *Tagged.__required_keys__)
