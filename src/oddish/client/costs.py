"""What was spent; a key of scope ``full`` is needed."""

from typing import TYPE_CHECKING

from oddish.client.paths import segment
from oddish.client.shapes import members
from oddish.client.spending import Costs as OrganisationCosts
from oddish.client.spending import UserCosts
from oddish.errors import InvalidInput

if TYPE_CHECKING:
    from oddish.client.connection import Connection


class Costs:
    """``window_days`` is how far back they go; 0 is all time."""

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection

    def organisation(self, *, window_days: int = 7) -> OrganisationCosts:
        """All that was spent, and on what."""
        answer = self._connection.call("GET", "/admin/costs", params={"window_days": window_days})
        return members(answer, OrganisationCosts, "totals", "by_user", "by_model")

    def user(self, user: str, *, window_days: int = 7) -> UserCosts:
        """What was spent by the user of that id or name. Raises ``InvalidInput`` for what can be neither."""
        if "/" in user:
            raise InvalidInput(
                f"The costs of {user!r} cannot be asked for by that name, which has a `/`.",
                fix="Give the id of the user, which `oddish costs` shows beside the name.",
            )
        path = f"/admin/costs/users/{segment(user, 'a user')}"
        answer = self._connection.call("GET", path, params={"window_days": window_days})
        return members(answer, UserCosts, "billed_user_id", "totals", "tasks", "by_model")
