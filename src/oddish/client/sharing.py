"""Experiments that whoever has their link may read."""

from typing import TYPE_CHECKING

from oddish.client.paths import segment
from oddish.client.shapes import members
from oddish.client.types import Share

if TYPE_CHECKING:
    from oddish.client.connection import Connection


class Sharing:
    """Experiments are named by id or name. Changing takes a key of scope ``full``."""

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection

    def state(self, experiment: str) -> Share:
        answer = self._connection.call("GET", _path(experiment, "share"))
        return members(answer, Share, *Share.__required_keys__)

    def publish(self, experiment: str) -> Share:
        """Let whoever has the link read the experiment; one that is published keeps its link."""
        return self._change(experiment, "publish")

    def unpublish(self, experiment: str) -> Share:
        """Let the link lead nowhere, for ever."""
        return self._change(experiment, "unpublish")

    def url(self, share: Share) -> str | None:
        """Where a published experiment is read without a key; None unless it is published."""
        if (token := share["public_token"]) is None:
            return None
        return f"{self._connection.base_url}/public/experiments/{segment(token, 'a published experiment')}"

    def _change(self, experiment: str, verb: str) -> Share:
        answer = self._connection.call("POST", _path(experiment, verb), once=True)
        return members(answer, Share, *Share.__required_keys__)


def _path(experiment: str, verb: str) -> str:
    return f"/experiments/{segment(experiment, 'an experiment')}/{verb}"
