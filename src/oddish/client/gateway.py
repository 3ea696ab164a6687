"""Jobs of the gateway: runs and verifications of tasks whose archives lie elsewhere."""

import json
from collections.abc import Collection, Generator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, cast

from oddish.client.errors import JOB_GOES_ON, UnexpectedAnswer
from oddish.client.eventstream import follow
from oddish.client.gatewayjobs import (
    ArtifactFile,
    ArtifactsArchive,
    DeliveryAttempt,
    ExecuteTasks,
    JobAccepted,
    JobArtifacts,
    JobDeliveries,
    JobDocument,
    JobEvent,
    JobListed,
    JobPage,
    JobStatus,
    RefillAccepted,
    VerifyTask,
)
from oddish.client.paths import segment
from oddish.client.shapes import items, members
from oddish.client.types import JSON, Problem

if TYPE_CHECKING:
    from oddish.client.connection import Connection

ROOT = "/sandbox/harbor/v2"
LAST_EVENT = "job.finished"
ACCEPTED = (202,)
GOES_ON = 504
DATAPOINT_SECONDS = 1800.0
"""For an answer; servers wait ten minutes unless they are told otherwise."""
CORRELATION = "x-correlation-id"

_SUMMARY = ("job_id", "kind", "status", "task_slug", "pass_at_k", "error")


class Gateway:
    """Each call that makes a job draws an ``Idempotency-Key`` where none is given, so that a repetition after a lost
    answer makes no other one. ``correlation_id`` appears in the logs and traces of what the job does."""

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection

    def execute(
        self, request: ExecuteTasks, *, idempotency_key: str | None = None, correlation_id: str | None = None
    ) -> JobAccepted:
        """Have agents attempt the task. Wait with ``wait``: asking again would run everything twice."""
        answer = self._make("jobs/execute-tasks", request, idempotency_key, correlation_id)
        return members(answer, JobAccepted, "job_id", "status")

    def verify(
        self, request: VerifyTask, *, idempotency_key: str | None = None, correlation_id: str | None = None
    ) -> JobAccepted:
        """Run the task's tests on a workspace, without any agent. What comes of it is no score."""
        answer = self._make("jobs/verify-task", request, idempotency_key, correlation_id)
        return members(answer, JobAccepted, "job_id", "status")

    def datapoint(
        self, request: ExecuteTasks, *, idempotency_key: str | None = None, correlation_id: str | None = None
    ) -> JobDocument:
        """The job that ``execute`` would make, once it has ended; refused where the quota has no room for it now.

        Where the server waits no longer, it is waited for as by ``wait``.
        """
        answer = self._make(
            "run/datapoint",
            request,
            idempotency_key,
            correlation_id,
            seconds=DATAPOINT_SECONDS,
            success=(200, GOES_ON),
        )
        if isinstance(answer, dict) and answer.get("code") == JOB_GOES_ON:
            return self.wait(str(members(answer, Problem, "job_id")["job_id"]))
        return members(answer, JobDocument, *_SUMMARY, "outcome", "result")

    def retry(
        self, job_id: str, *, include_side_effects: bool = False, idempotency_key: str | None = None
    ) -> RefillAccepted:
        """Make up for the trials of a job that raised, by another job of as many; the job stays as it is.

        With ``include_side_effects`` that one notifies, delivers and writes back as well.
        """
        answer = self._connection.call(
            "POST",
            f"{_path(job_id)}/retry-errored-trials",
            params={"include_side_effects": True} if include_side_effects else None,
            once=True,
            idempotency_key=idempotency_key,
            success=ACCEPTED,
        )
        return members(answer, RefillAccepted, *RefillAccepted.__required_keys__)

    def job(self, job_id: str) -> JobDocument:
        """How far it is and, once it has ended, what came of it."""
        return members(self._connection.call("GET", _path(job_id)), JobDocument, *_SUMMARY, "outcome", "result")

    def jobs(self, *, limit: int = 100, cursor: str | None = None, status: JobStatus | None = None) -> JobPage:
        """With what came of those that have ended, in short; ``status`` leaves out all others."""
        params: dict[str, str | int | bool] = {"limit": limit}
        if status is not None:
            params["status"] = status
        if cursor is not None:
            params["cursor"] = cursor
        found = members(self._connection.call("GET", f"{ROOT}/jobs", params=params), JobPage, "jobs", "cursor")
        items(cast("JSON", found["jobs"]), JobListed, *_SUMMARY)
        return found

    def cancel(self, job_id: str) -> JobAccepted:
        """Stop it; trials that have ended stay as they are."""
        answer = self._connection.call("POST", f"{_path(job_id)}/cancel", once=True)
        return members(answer, JobAccepted, "job_id", "status")

    def events(self, job_id: str) -> Generator[JobEvent]:
        """What has happened to it and what happens, through lost connections, to ``job.finished``."""
        with closing(follow(self._connection, f"{_path(job_id)}/events")) as messages:
            for message in messages:
                try:
                    data = json.loads(message.data)
                except (ValueError, RecursionError):
                    data = None
                if not isinstance(data, dict):
                    raise UnexpectedAnswer(f"{self._connection.base_url} tells of a job in something other than JSON.")
                yield {"id": message.id, "event": message.event, "data": data}
                if message.event == LAST_EVENT:
                    return

    def wait(self, job_id: str) -> JobDocument:
        """The job, once it has ended."""
        for _ in self.events(job_id):
            pass
        return self.job(job_id)

    def artifacts(self, job_id: str, *, presign: bool = False, cursor: str | None = None) -> JobArtifacts:
        """The files that its trials left; ``presign`` asks for a URL of each."""
        params: dict[str, str | int | bool] = {"presign": presign}
        if cursor is not None:
            params["cursor"] = cursor
        answer = self._connection.call("GET", f"{_path(job_id)}/artifacts", params=params)
        found = members(answer, JobArtifacts, "files", "cursor")
        items(cast("JSON", found["files"]), ArtifactFile, "path", "size", "sha256")
        return found

    def archive(self, job_id: str) -> ArtifactsArchive:
        """Where to get all of them as one zip; it is made when it is first asked for."""
        answer = self._connection.call("GET", f"{_path(job_id)}/artifacts/archive", patient=True)
        return members(answer, ArtifactsArchive, *ArtifactsArchive.__required_keys__)

    def deliveries(self, job_id: str, *, limit: int = 100) -> JobDeliveries:
        """What became of the messages to its callbacks: the latest attempts, the newest first."""
        answer = self._connection.call("GET", f"{_path(job_id)}/deliveries", params={"limit": limit})
        found = members(answer, JobDeliveries, "job_id", "deliveries")
        items(cast("JSON", found["deliveries"]), DeliveryAttempt, "kind", "url", "event", "attempt", "result")
        return found

    def _make(
        self,
        route: str,
        request: Mapping[str, object],
        idempotency_key: str | None,
        correlation_id: str | None,
        *,
        seconds: float | None = None,
        success: Collection[int] = ACCEPTED,
    ) -> JSON:
        return self._connection.call(
            "POST",
            f"{ROOT}/{route}",
            body=request,
            headers={} if correlation_id is None else {CORRELATION: correlation_id},
            once=True,
            idempotency_key=idempotency_key,
            seconds=seconds,
            success=success,
        )


def _path(job_id: str) -> str:
    return f"{ROOT}/jobs/{segment(job_id, 'a job')}"
