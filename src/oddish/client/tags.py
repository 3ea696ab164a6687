"""The tags of tasks."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from oddish.client.paths import segment
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
            f"/tasks/{segment(task_id, 'a task')}/tags",
            body={"add": dict(add or {}), "remove": list(remove)},
            once=True,
        )
        return members(answer, Tagged, *Tagged.__required_keys__)
