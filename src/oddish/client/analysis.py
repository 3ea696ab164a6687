"""The analysis of tasks: what their trials say about the agents and about the task itself."""

from typing import TYPE_CHECKING, cast

from oddish.client.errors import AnalysisNotEnabled, ApiError
from oddish.client.paths import segment
from oddish.client.types import JSON

if TYPE_CHECKING:
    from oddish.client.connection import Connection

NO_SUCH_ROUTE = (404, 405)


class Analysis:
    """Each method is about a task that exists. Raises ``AnalysisNotEnabled`` at a server without analysis."""

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection

    def retry(self, task_id: str) -> dict[str, JSON]:
        """Classify the task's trials anew and come to a new verdict."""
        return self._post(task_id, "retry")

    def cancel(self, task_id: str) -> dict[str, JSON]:
        """Stop the analysis that is under way."""
        return self._post(task_id, "cancel")

    def _post(self, task_id: str, action: str) -> dict[str, JSON]:
        path = f"/tasks/{segment(task_id, 'a task')}/qa/{action}"
        try:
            answer = self._connection.call("POST", path, body={}, once=True)
        except ApiError as error:
            if error.http_status not in NO_SUCH_ROUTE:
                raise
            raise AnalysisNotEnabled(
                f"Analysis is not enabled at {self._connection.base_url}.",
                fix="Leave --qa out, or ask whoever runs the server to enable it.",
            ) from error
        return cast("dict[str, JSON]", answer)
