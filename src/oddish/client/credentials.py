"""What agents need of credentials, and the secrets of the caller's organisation."""

from typing import TYPE_CHECKING, cast

from oddish.client.paths import segment
from oddish.client.shapes import items, members
from oddish.client.types import JSON, Agents, Secret, Secrets

if TYPE_CHECKING:
    from oddish.client.connection import Connection


class Credentials:
    """Setting and removing secrets takes a key of scope ``full``."""

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection

    def agents(self, *, agent: str | None = None, model: str | None = None) -> Agents:
        """Agents, or the one of that name, and the variables they take for ``model``."""
        given: dict[str, str | None] = {"agent": agent, "model": model}
        params: dict[str, str | int | bool] = {name: value for name, value in given.items() if value is not None}
        return members(self._connection.call("GET", "/agents", params=params), Agents, "agents", "offered")

    def list(self) -> Secrets:
        """Names and times; values are never answered."""
        found = members(self._connection.call("GET", "/secrets"), Secrets, "secrets")
        items(cast("JSON", found["secrets"]), Secret, *Secret.__required_keys__)
        return found

    def set(self, name: str, value: str) -> Secret:
        """Keep a value for the trials that name the variable, in place of a former one."""
        answer = self._connection.call("PUT", _path(name), body={"value": value}, repeatable=True)
        return members(answer, Secret, "name", "updated_at")

    def remove(self, name: str) -> None:
        self._connection.call("DELETE", _path(name))


def _path(name: str) -> str:
    return f"/secrets/{segment(name, 'a secret')}"
