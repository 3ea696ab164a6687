"""The state of the queue; a key of scope ``full`` is needed for all of it. Not every deployment answers each read."""

from typing import TYPE_CHECKING

from oddish.client.queuestate import OrphanedState, QueueHealth, QueueStatus, Slots, WorkerJobs
from oddish.client.shapes import members

if TYPE_CHECKING:
    from oddish.client.connection import Connection, Params


class Diagnostics:
    def __init__(self, connection: "Connection") -> None:
        self._connection = connection

    def queue_health(self) -> QueueHealth:
        """How full each key is, and whether somebody works on them."""
        return self._read("queue-health", QueueHealth)

    def queue_status(self) -> QueueStatus:
        return self._read("queue-status", QueueStatus)

    def slots(self) -> Slots:
        """Who holds the slots of each key."""
        return self._read("slots", Slots)

    def orphaned_state(self, *, stale_after_minutes: int) -> OrphanedState:
        """What runs on workers without a sign of life for so long."""
        return self._read("orphaned-state", OrphanedState, {"stale_after_minutes": stale_after_minutes})

    def worker_jobs(self, *, stale_after_minutes: int) -> WorkerJobs:
        """The jobs of the organisation, and what became of those of the last hour."""
        return self._read("worker-jobs", WorkerJobs, {"stale_after_minutes": stale_after_minutes})

    def _read[Shape](self, name: str, shape: type[Shape], params: "Params | None" = None) -> Shape:
        answer = self._connection.call("GET", f"/admin/{name}", params=params)
        return members(answer, shape, *getattr(shape, "__required_keys__", ()))
